/** Every operation of the REST API: a new resource's file is added here. */
import type { Operation } from './operation.ts'
import { integrations } from './v1/integrations.ts'
import { claims } from './v2/claims.ts'
import { deployments } from './v2/deployments.ts'
import { listeners } from './v2/listeners.ts'
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
]
