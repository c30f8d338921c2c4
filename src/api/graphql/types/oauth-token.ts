/** OAuth tokens: each person sees their own (docs/oauth.md#rules, docs/api-rules.md#graphql). Their writes are next door. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { countTokens, windowTokens } from '../../../domain/oauth/tokens/list.ts'
import { displayLabel, tokenStatus, tokenStatusMessage } from '../../../domain/oauth/tokens/token.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, NODE_PATHS } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { OAuthTokenStatus } from '../builder/enums.ts'
import { OAuthProvider } from './oauth-provider.ts'

// what is asked for and no more: a whole row would have the token
const KEYS = { id: true, createdAt: true } as const

export const OAuthToken = builder.prismaObject('OAuthToken', {
  description:
    'Your token of an account at an OAuth provider. The token itself is in no answer but the one that an agent gets.',
  interfaces: [builder.nodeInterfaceRef()],
  select: KEYS,
  fields: (t) => ({
    id: t.exposeID('id'),
    provider: t.relation('provider', { type: OAuthProvider }),
    providerAccountLabel: t.string({
      nullable: true,
      description: 'The name you gave it, or what the provider calls the account.',
      select: { label: true, accountLabel: true },
      resolve: displayLabel,
    }),
    scopes: t.exposeStringList('scopes'),
    isDefault: t.exposeBoolean('isDefault', {
      description: 'Taken where you have several tokens of the provider.',
    }),
    status: t.field({
      type: OAuthTokenStatus,
      description: 'EXPIRED: authenticate again.',
      select: { endedAt: true, expiresAt: true, refreshable: true },
      resolve: (token, _args, { clock }) => tokenStatus(token, clock()),
    }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why it has expired for good, or was not refreshed when that was last tried.',
      select: { endedAt: true, endedBecause: true, expiresAt: true, refreshable: true, refreshError: true },
      resolve: (token, _args, { clock }) => tokenStatusMessage(token, clock()),
    }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is refreshed at the latest, or ends. Null: the provider does not say.',
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
      args: { providerId: t.arg.id({ description: 'Only those of this OAuth provider: its providerId, or its id.' }) },
      resolve: async (_root, { providerId, ...window }, ctx, info) => {
        const raw = { query: { provider_id: providerId } }
        const selected = queryFromInfo({ context: ctx, info, typeName: 'OAuthToken', paths: NODE_PATHS })
        // without a node nothing is selected, which would be everything
        const slice = await windowTokens(ctx, raw, window, { select: KEYS, ...selected })
        return connectionOf(slice, window, newestCursor, () => countTokens(ctx, raw))
      },
    },
    { name: 'OAuthTokenConnection' },
    { name: 'OAuthTokenEdge' },
  ),
)
