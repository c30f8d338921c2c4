/**
 * The normalised cache: each thing once, by its id, which is unique across all types. What a subscription or a mutation brings
 * is seen by every page that shows it. Lists are pages of 100 by cursor, each a query of its own (graphcache's own way of
 * joining pages takes time in proportion to all their rows at each event).
 */
import { type Cache, type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache'
import { possibleTypes } from './possible-types.ts'

/** After these writes lists have other members: they are read again where they are shown. */
const LISTS_CHANGED_BY: Record<string, string[]> = {
  createDeployment: ['deployments', 'deploymentCounts', 'tags'],
  deleteDeployment: ['deployments', 'deploymentCounts'],
  deleteDeployments: ['deployments', 'deploymentCounts'],
  setDeploymentTags: ['tags', 'deploymentCounts'],
  createListener: ['listeners'],
  deleteListener: ['listeners'],
  createApiKey: ['apiKeys'],
  createWorkspace: ['workspaces'],
  // with it they have ended
  revokeApiKey: ['sessions'],
  createOAuthProvider: ['oauthProviders'],
  discoverMcpProvider: ['oauthProviders'],
  deleteOAuthProvider: ['oauthProviders', 'oauthTokens'],
  // the default of before is none any more
  updateOAuthToken: ['oauthTokens'],
  deleteOAuthToken: ['oauthTokens', 'connections'],
  deleteOAuthTokensOfUser: ['oauthTokens', 'connections'],
  createConnection: ['connections'],
  deleteConnection: ['connections'],
  removeGitIntegration: ['gitIntegrations'],
}
/** Fields of a deployment that every write to it may change, and that its answer need not select. */
const DEPLOYMENT_FIELDS = ['revisions', 'events']
const DEPLOYMENT_WRITES = ['updateDeployment', 'createRevision', 'redeployRevision', 'interruptRevision']

function invalidateLists(cache: Cache, fields: string[]): void {
  for (const { fieldName, fieldKey } of cache.inspectFields('Query'))
    if (fields.includes(fieldName)) cache.invalidate('Query', fieldKey)
}

/** `id`: of a deployment. */
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
        (result: Record<string, unknown>, args: { input?: { deploymentId?: string } }, cache: Cache) => {
          // what was refused has changed nothing
          const { __typename = '' } = (result[name] ?? {}) as { __typename?: string }
          if (__typename.endsWith('Success') && args.input?.deploymentId)
            invalidateDeployment(cache, args.input.deploymentId)
        },
      ]),
    ]),
  },
}

export const createCache = () => cacheExchange(options)
