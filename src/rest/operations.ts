/** Every operation of the REST API: a new resource's file is added here. */
import type { Operation } from './operation.ts'
import { integrations } from './v1/integrations.ts'
import { agentTokens } from './v2/agent-tokens.ts'
import { authorizations } from './v2/authorizations.ts'
import { claims } from './v2/claims.ts'
import { connections } from './v2/connections.ts'
import { deployments } from './v2/deployments.ts'
import { listeners } from './v2/listeners.ts'
import { mcpDiscover } from './v2/mcp-discover.ts'
import { oauthProviders } from './v2/oauth-providers.ts'
import { oauthTokens } from './v2/oauth-tokens.ts'
import { pushTokens } from './v2/push-tokens.ts'
import { revisions } from './v2/revisions.ts'
import { uploadUrls } from './v2/upload-urls.ts'

export const operations: readonly Operation[] = [
  ...deployments,
  ...revisions,
  ...uploadUrls,
  ...pushTokens,
  ...listeners,
  ...claims,
  ...integrations,
  ...oauthProviders,
  ...mcpDiscover,
  ...authorizations,
  ...oauthTokens,
  ...connections,
  ...agentTokens,
]
