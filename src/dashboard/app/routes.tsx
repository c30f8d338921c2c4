/**
 * All pages and their addresses. A page's code is loaded when it is first opened.
 * The page's own `search.ts` reads the query string.
 */
import { createRootRoute, createRoute, redirect } from '@tanstack/react-router'
import { isSignedIn } from '../api/session.ts'
import { activitySearch } from '../pages/activity/search.ts'
import { compareSearch } from '../pages/compare/search.ts'
import DeploymentsPage from '../pages/deployments/deployments-page.tsx'
import { deploymentsSearch } from '../pages/deployments/search.ts'
import { oauthSearch } from '../pages/oauth/search.ts'
import { revisionSearch } from '../pages/revision/search.ts'
import { Home } from './home.tsx'
import { lazyPage } from './lazy-page.tsx'
import { RootLayout } from './root-layout.tsx'
import { WorkspaceLayout } from './workspace-layout.tsx'

const root = createRootRoute({ component: RootLayout })

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
    to: typeof to === 'string' && /^\/(w\/|$)/.test(to) ? to : undefined,
  }),
  component: lazyPage(() => import('../pages/sign-in/sign-in-page.tsx')),
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

const newDeployment = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments/new',
  component: lazyPage(() => import('../pages/new-deployment/new-deployment-page.tsx')),
})

const deployment = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments/$id',
  component: lazyPage(() => import('../pages/deployment/deployment-page.tsx')),
})

const settings = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments/$id/settings',
  component: lazyPage(() => import('../pages/settings/settings-page.tsx')),
})

const compare = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments/$id/compare',
  validateSearch: compareSearch,
  component: lazyPage(() => import('../pages/compare/compare-page.tsx')),
})

const revision = createRoute({
  getParentRoute: () => workspace,
  path: '/deployments/$id/revisions/$revisionId',
  validateSearch: revisionSearch,
  component: lazyPage(() => import('../pages/revision/revision-page.tsx')),
})

const activity = createRoute({
  getParentRoute: () => workspace,
  path: '/activity',
  validateSearch: activitySearch,
  component: lazyPage(() => import('../pages/activity/activity-page.tsx')),
})

const listeners = createRoute({
  getParentRoute: () => workspace,
  path: '/listeners',
  component: lazyPage(() => import('../pages/listeners/listeners-page.tsx')),
})

const integrations = createRoute({
  getParentRoute: () => workspace,
  path: '/integrations',
  component: lazyPage(() => import('../pages/integrations/integrations-page.tsx')),
})

const oauth = createRoute({
  getParentRoute: () => workspace,
  path: '/oauth',
  validateSearch: oauthSearch,
  component: lazyPage(() => import('../pages/oauth/oauth-page.tsx')),
})

const keys = createRoute({
  getParentRoute: () => workspace,
  path: '/keys',
  component: lazyPage(() => import('../pages/keys/keys-page.tsx')),
})

const pages = [
  workspaceHome,
  deployments,
  newDeployment,
  deployment,
  settings,
  compare,
  revision,
  activity,
  listeners,
  integrations,
  oauth,
  keys,
] as const

export const routeTree = root.addChildren([home, signIn, workspace.addChildren(pages)])
