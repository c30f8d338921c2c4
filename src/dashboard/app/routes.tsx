/**
 * All pages and their addresses. A page's code is loaded when it is first opened.
 * The page's own `search.ts` reads the query string.
 */
import { createRootRoute, createRoute, Outlet, redirect } from '@tanstack/react-router'
import { isSignedIn } from '../api/session.ts'
import { activitySearch } from '../pages/activity/search.ts'
import { compareSearch } from '../pages/compare/search.ts'
import { deploymentSearch } from '../pages/deployment/search.ts'
import DeploymentsPage from '../pages/deployments/deployments-page.tsx'
import { deploymentsSearch } from '../pages/deployments/search.ts'
import { oauthSearch } from '../pages/oauth/search.ts'
import { revisionSearch } from '../pages/revision/search.ts'
import { Home } from './home.tsx'
import { lazyPage } from './lazy-page.tsx'
import { WorkspaceLayout } from './workspace-layout.tsx'

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
  component: lazyPage(() => import('../pages/connect/connect-page.tsx')),
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
  page('/deployments/$id/compare', () => import('../pages/compare/compare-page.tsx'), compareSearch),
  page('/deployments/$id/revisions/$revisionId', () => import('../pages/revision/revision-page.tsx'), revisionSearch),
  page('/activity', () => import('../pages/activity/activity-page.tsx'), activitySearch),
  page('/alerts', () => import('../pages/alerts/alerts-page.tsx')),
  page('/listeners', () => import('../pages/listeners/listeners-page.tsx')),
  page('/integrations', () => import('../pages/integrations/integrations-page.tsx')),
  page('/oauth', () => import('../pages/oauth/oauth-page.tsx'), oauthSearch),
  page('/keys', () => import('../pages/keys/keys-page.tsx')),
] as const

export const routeTree = root.addChildren([home, signIn, connect, workspace.addChildren(pages)])
