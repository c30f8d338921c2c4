/**
 * OAuth tokens: each person sees only their own (docs/oauth.md#rules, docs/api-rules.md#graphql). oauth-token-mutations.ts
 * has the mutations.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import {
  displayLabel,
  tokenStatus,
  tokenStatusMessage,
  tokens,
  tokensOfProvider,
} from '../../../domain/oauth/tokens/token.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { OAuthTokenStatus } from '../builder/enums.ts'
import { OAuthProvider } from './oauth-provider.ts'

// select no whole row: it contains the token
const KEYS = { id: true, createdAt: true } as const

export const OAuthToken = builder.prismaObject('OAuthToken', {
  description: 'Your token of an account at an OAuth provider. Only an agent’s `issueAccessToken` returns its text.',
  interfaces: [builder.nodeInterfaceRef()],
  select: KEYS,
  fields: (t) => ({
    id: t.exposeID('id'),
    provider: t.relation('provider', { type: OAuthProvider }),
    providerAccountLabel: t.string({
      nullable: true,
      description: 'The label you gave the account, or the provider’s name for it.',
      select: { label: true, accountLabel: true },
      resolve: displayLabel,
    }),
    scopes: t.exposeStringList('scopes'),
    isDefault: t.exposeBoolean('isDefault', {
      description: 'Whether this token is used if you have several of the provider.',
    }),
    status: t.field({
      type: OAuthTokenStatus,
      description: 'EXPIRED: authenticate again.',
      select: { endedAt: true, expiresAt: true, refreshable: true },
      resolve: (token, _args, { clock }) => tokenStatus(token, clock()),
    }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why the token has ended, or why its last refresh failed.',
      select: { endedAt: true, endedBecause: true, expiresAt: true, refreshable: true, refreshError: true },
      resolve: (token, _args, { clock }) => tokenStatusMessage(token, clock()),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the token expires if it is not refreshed. Null: the provider does not report it.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
})

builder.queryField('oauthTokens', (t) =>
  t.connection(
    {
      type: OAuthToken,
      description: 'Your OAuth tokens of this workspace, newest first.',
      complexity: pageCost,
      args: {
        providerId: t.arg.id({ description: 'Only tokens of this OAuth provider, given by its providerId or its id.' }),
      },
      resolve: async (_root, { providerId, ...window }, ctx, info) => {
        const selected = queryFromInfo({ context: ctx, info, typeName: 'OAuthToken', paths: NODE_PATHS })
        // an empty selection would read whole rows
        const filter = tokensOfProvider(ctx, { query: { provider_id: providerId } })
        return newestOf(tokens, ctx, window, { select: KEYS, ...selected }, filter)
      },
    },
    { name: 'OAuthTokenConnection' },
    { name: 'OAuthTokenEdge' },
  ),
)
