/**
 * The normalised cache: one entry per object, by its id, which is unique across all types.
 * Lists are pages of 100, one query each: graphcache's own pagination costs time per row of all pages at each event.
 */
import { type Cache, type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache'
import { possibleTypes } from './possible-types.ts'

/** Lists that a mutation changes. Visible ones are read again after it. */
const LISTS_CHANGED_BY: Record<string, string[]> = {
  createDeployment: ['deployments', 'deploymentCounts', 'tags'],
  deleteDeployment: ['deployments', 'deploymentCounts'],
  deleteDeployments: ['deployments', 'deploymentCounts'],
  setDeploymentTags: ['tags', 'deploymentCounts'],
  createListener: ['listeners'],
  updateListener: ['listeners'],
  deleteListener: ['listeners'],
  createAlertRule: ['alertRules'],
  updateAlertRule: ['alertRules', 'alerts'],
  deleteAlertRule: ['alertRules', 'alerts'],
  createWebhookEndpoint: ['webhookEndpoints'],
  updateWebhookEndpoint: ['webhookEndpoints'],
  deleteWebhookEndpoint: ['webhookEndpoints'],
  replayEndpointDeliveries: ['endpointDeliveries'],
  createApiKey: ['apiKeys'],
  createWorkspace: ['workspaces'],
  // revoking a key ends its sessions
  revokeApiKey: ['apiKeys', 'sessions'],
  revokeSession: ['sessions'],
  createOAuthProvider: ['oauthProviders'],
  updateOAuthProvider: ['oauthProviders'],
  discoverMcpProvider: ['oauthProviders'],
  deleteOAuthProvider: ['oauthProviders', 'oauthTokens'],
  // the previous default loses its flag
  updateOAuthToken: ['oauthTokens'],
  deleteOAuthToken: ['oauthTokens', 'connections'],
  deleteOAuthTokensOfUser: ['oauthTokens', 'connections'],
  createConnection: ['connections'],
  deleteConnection: ['connections'],
  removeGitIntegration: ['gitIntegrations'],
}
/** Fields that any write to a deployment may change, and that its answer does not select. */
const DEPLOYMENT_FIELDS = ['revisions', 'events']
const DEPLOYMENT_WRITES = [
  'updateDeployment',
  'restartDeployment',
  'createRevision',
  'redeployRevision',
  'interruptRevision',
]

function invalidateLists(cache: Cache, fields: string[]): void {
  for (const { fieldName, fieldKey } of cache.inspectFields('Query'))
    if (fields.includes(fieldName)) cache.invalidate('Query', fieldKey)
}

/** `id`: the deployment's id */
function invalidateDeployment(cache: Cache, id: string): void {
  const entity = { __typename: 'Deployment', id }
  for (const { fieldName, fieldKey } of cache.inspectFields(entity))
    if (DEPLOYMENT_FIELDS.includes(fieldName)) cache.invalidate(entity, fieldKey)
}

const options: Partial<CacheExchangeOpts> = {
  possibleTypes,
  updates: {
    Mutation: Object.fromEntries([
      ...Object.entries(LISTS_CHANGED_BY).map(([name, fields]) => [
        name,
        (_result: unknown, _args: unknown, cache: Cache) => invalidateLists(cache, fields),
      ]),
      ...DEPLOYMENT_WRITES.map((name) => [
        name,
        (
          result: Record<string, unknown>,
          args: { input?: { deploymentId?: string; revisionId?: string } },
          cache: Cache,
        ) => {
          // a rejected write changed nothing
          const { __typename = '' } = (result[name] ?? {}) as { __typename?: string }
          if (!__typename.endsWith('Success')) return
          const { deploymentId, revisionId } = args.input ?? {}
          if (deploymentId) invalidateDeployment(cache, deploymentId)
          if (revisionId) cache.invalidate({ __typename: 'Revision', id: revisionId })
        },
      ]),
    ]),
  },
}

export const createCache = () => cacheExchange(options)
