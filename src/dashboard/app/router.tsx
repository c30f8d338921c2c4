/** The router, and what it shows where a page can't be shown. */
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
  // a log has its own place, in the address
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

/** A fault of ours, caught, or a part of ours that can't be had: the rest of the page goes on. */
function Failed({ error, reset }: ErrorComponentProps) {
  if (error instanceof PageLoadError) return <PageUnavailable />
  return (
    <Container py="xl">
      <PageError
        error={createProblem(
          'FAULT',
          `This page has a fault: ${error instanceof Error ? error.message : String(error)}`,
        )}
        retry={reset}
      />
      <Button variant="subtle" mt="sm" onClick={() => location.reload()}>
        Load it anew
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
