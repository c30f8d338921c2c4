/**
 * All pages and their addresses, and the router with its pages for errors and unknown addresses. A page's code is loaded when it
 * is first opened. The page's own `search.ts` reads the query string.
 */
import { Button, Center, Container, Loader } from '@mantine/core'
import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  Navigate,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { type ComponentType, useEffect } from 'react'
import { createProblem } from '../api/problem.ts'
import { isSignedIn, useSession } from '../api/session.ts'
import { isRange, type RangeName } from '../components/metrics/ranges.ts'
import { NotFound, PageError } from '../components/page.tsx'
import { lastWorkspace, NoWorkspace } from '../components/workspace.tsx'
import { activitySearch } from '../pages/activity/search.ts'
import DeploymentsPage from '../pages/deployments/deployments-page.tsx'
import { deploymentsSearch } from '../pages/deployments/search.ts'
import { oauthSearch } from '../pages/oauth/search.ts'
import { compareSearch, revisionSearch } from '../pages/revision/search.ts'
import { WorkspaceLayout } from './workspace-layout.tsx'

/** Has its own message: at the browser's message the router would reload the whole app. */
class PageLoadError extends Error {}

/**
 * Loads a page's code when it is opened. If the server is down, the page opens when the server is back.
 * If the server has a new version, the whole app reloads. Preloading failures are not shown.
 */
const lazyPage = (load: () => Promise<{ default: ComponentType }>) =>
  lazyRouteComponent(() =>
    load().catch((cause: unknown) => {
      throw new PageLoadError('A part of this page could not be loaded.', { cause })
    }),
  )

/** poll of the server's health */
const HEALTH_POLL_MS = 1_500
/** minimum time between two reloads, so that a missing file causes no reload loop */
const RELOAD_INTERVAL_MS = 10_000
const RELOADED_KEY = 'pilothouse.reloaded'

function PageUnavailable() {
  useEffect(() => {
    const look = async () => {
      const answer = await fetch('/healthz').catch(() => null)
      if (!answer?.ok || Date.now() - Number(sessionStorage.getItem(RELOADED_KEY) ?? 0) < RELOAD_INTERVAL_MS) return
      sessionStorage.setItem(RELOADED_KEY, String(Date.now()))
      location.reload()
    }
    void look()
    const timer = setInterval(look, HEALTH_POLL_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <PageError
      error={createProblem('OFFLINE', 'The server can’t be reached. This page opens by itself when it is back.')}
    />
  )
}

interface DeploymentSearch {
  range?: RangeName
}

/** Ignores an invalid range. */
const deploymentSearch = ({ range }: Record<string, unknown>): DeploymentSearch => (isRange(range) ? { range } : {})

const root = createRootRoute({
  component: () => (
    <>
      <a className="skip-link" href="#page">
        Skip to content
      </a>
      <Outlet />
    </>
  ),
})

/** Redirects to the sign-in page, which leads back. */
function mustBeSignedIn({ location }: { location: { href: string } }): void {
  if (!isSignedIn())
    throw redirect({ to: '/sign-in', search: { to: location.href === '/' ? undefined : location.href } })
}

const home = createRoute({ getParentRoute: () => root, path: '/', beforeLoad: mustBeSignedIn, component: Home })

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  // only a path of this app; an explicit undefined, or the router keeps the original value
  validateSearch: ({ to }: Record<string, unknown>): { to?: string | undefined } => ({
    to: typeof to === 'string' && /^\/(w\/|connect(#|$)|$)/.test(to) ? to : undefined,
  }),
  component: lazyPage(() => import('../pages/sign-in/sign-in-page.tsx')),
})

/** The command line opens it, with the code of its login in the fragment. */
const connect = createRoute({
  getParentRoute: () => root,
  path: '/connect',
  beforeLoad: mustBeSignedIn,
  component: lazyPage(() => import('../pages/sign-in/connect-page.tsx')),
})

const workspace = createRoute({
  getParentRoute: () => root,
  path: '/w/$ws',
  beforeLoad: mustBeSignedIn,
  component: WorkspaceLayout,
})

const workspaceHome = createRoute({
  getParentRoute: () => workspace,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/w/$ws/deployments', params })
  },
})

const deployments = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments',
  validateSearch: deploymentsSearch,
  // part of the first load: most sessions start here
  component: DeploymentsPage,
})

/** A page that is loaded when it is opened. `search` reads its query string. */
const page = <Path extends string, Search extends object = object>(
  path: Path,
  load: Parameters<typeof lazyPage>[0],
  search?: (raw: Record<string, unknown>) => Search,
) =>
  createRoute({
    getParentRoute: () => workspace,
    path,
    validateSearch: search as (raw: Record<string, unknown>) => Search,
    component: lazyPage(load),
  })

const pages = [
  workspaceHome,
  deployments,
  page('/deployments/new', () => import('../pages/new-deployment/new-deployment-page.tsx')),
  page('/deployments/$id', () => import('../pages/deployment/deployment-page.tsx'), deploymentSearch),
  page('/deployments/$id/settings', () => import('../pages/settings/settings-page.tsx')),
  page('/deployments/$id/compare', () => import('../pages/revision/compare-page.tsx'), compareSearch),
  page('/deployments/$id/revisions/$revisionId', () => import('../pages/revision/revision-page.tsx'), revisionSearch),
  page('/activity', () => import('../pages/activity/activity-page.tsx'), activitySearch),
  page('/alerts', () => import('../pages/alerts/alerts-page.tsx')),
  page('/listeners', () => import('../pages/listeners/listeners-page.tsx')),
  page('/integrations', () => import('../pages/integrations/integrations-page.tsx')),
  page('/oauth', () => import('../pages/oauth/oauth-page.tsx'), oauthSearch),
  page('/keys', () => import('../pages/keys/keys-page.tsx')),
] as const

/**
 * All pages and their addresses. A page's code is loaded when it is first opened.
 * The page's own `search.ts` reads the query string.
 */
const routeTree = root.addChildren([home, signIn, connect, workspace.addChildren(pages)])

/** `/`: redirects to the last open workspace, or to the session's first one. */
function Home() {
  const { session } = useSession()
  if (!session) return <Navigate to="/sign-in" replace />
  const ws = lastWorkspace(session)
  if (ws) return <Navigate to="/w/$ws/deployments" params={{ ws }} replace />
  return <NoWorkspace />
}

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
