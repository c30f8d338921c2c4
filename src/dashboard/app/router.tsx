/** The router, and its pages for errors and unknown addresses. */
import { Button, Center, Container, Loader } from '@mantine/core'
import { createRouter, type ErrorComponentProps } from '@tanstack/react-router'
import { createProblem } from '../api/problem.ts'
import { NotFound, PageError } from '../components/page.tsx'
import { PageLoadError, PageUnavailable } from './lazy-page.tsx'
import { routeTree } from './routes.tsx'

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingMs: 150,
  defaultPendingComponent: Pending,
  defaultErrorComponent: Failed,
  defaultNotFoundComponent: UnknownPage,
  // a log keeps its scroll position in the address
  scrollRestoration: ({ location }) => !location.pathname.includes('/revisions/'),
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

function Pending() {
  return (
    <Center h="50vh">
      <Loader role="status" aria-label="Loading" />
    </Center>
  )
}

/** Shown for an exception or for page code that can't be loaded. The rest of the app keeps working. */
function Failed({ error, reset }: ErrorComponentProps) {
  if (error instanceof PageLoadError) return <PageUnavailable />
  return (
    <Container py="xl">
      <PageError
        error={createProblem('FAULT', `This page failed: ${error instanceof Error ? error.message : String(error)}`)}
        retry={reset}
      />
      <Button variant="subtle" mt="sm" onClick={() => location.reload()}>
        Reload
      </Button>
    </Container>
  )
}

function UnknownPage() {
  return (
    <Container py="xl">
      <NotFound />
    </Container>
  )
}
