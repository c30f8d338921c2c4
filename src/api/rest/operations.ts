/** Every operation of the REST API: a new resource's file is added here. */
import type { Operation } from './framework/operation.ts'
import { integrations } from './v1/integrations.ts'
import { alerts } from './v2/alerts.ts'
import { apiKeys } from './v2/api-keys.ts'
import { builders } from './v2/builders.ts'
import { claims } from './v2/claims.ts'
import { connections } from './v2/connections.ts'
import { deploymentLinks, deployments } from './v2/deployments.ts'
import { deploymentChanges, events } from './v2/events.ts'
import { listeners } from './v2/listeners.ts'
import { logs } from './v2/logs.ts'
import { callers, workspaces } from './v2/me.ts'
import { deploymentMetrics } from './v2/metrics.ts'
import { oauthProviders } from './v2/oauth-providers.ts'
import { authorizations, oauthTokens } from './v2/oauth-tokens.ts'
import { revisions } from './v2/revisions.ts'
import { secrets } from './v2/secrets.ts'
import { logins, sessions } from './v2/sessions.ts'
import { sources } from './v2/sources.ts'
import { tags } from './v2/tags.ts'
import { webhookEndpoints } from './v2/webhook-endpoints.ts'

export const operations: readonly Operation[] = [
  // first: its path looks like the path of a deployment
  ...deploymentChanges,
  ...deployments,
  ...deploymentLinks,
  ...secrets,
  ...tags,
  ...revisions,
  ...logs,
  ...deploymentMetrics,
  ...events,
  ...sources,
  ...listeners,
  ...claims,
  ...builders,
  ...integrations,
  ...oauthProviders,
  ...authorizations,
  ...oauthTokens,
  ...connections,
  ...sessions,
  ...apiKeys,
  ...webhookEndpoints,
  ...alerts,
  ...logins,
  ...workspaces,
  ...callers,
]
