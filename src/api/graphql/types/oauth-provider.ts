/** OAuth providers: where agents get tokens of people's accounts from (docs/oauth.md#rules). Their writes are next door. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { countProviders, selectProvider, windowProviders } from '../../../domain/oauth/providers/read.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import type {
  AuthMethod,
  CODE_CHALLENGE_METHODS,
  ProviderType as ProviderTypeValue,
} from '../../../domain/values/oauth-provider.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, NODE_PATHS } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { CodeChallengeMethod, OAuthProviderType, TokenEndpointAuthMethod } from '../builder/enums.ts'
import { VERSION_DESCRIPTION } from '../builder/verb-input.ts'

/** what a list needs of each row itself */
const KEYS = { id: true, createdAt: true } as const

export const OAuthProvider = builder.prismaObject('OAuthProvider', {
  description: 'A client at a third party that issues tokens of people’s accounts. Its client secret is in no answer.',
  interfaces: [builder.nodeInterfaceRef()],
  // what is asked for and no more: a whole row would have the secret
  select: KEYS,
  fields: (t) => ({
    id: t.exposeID('id'),
    organizationId: t.exposeID('organizationId'),
    providerId: t.exposeString('providerId', { description: 'Given by the user; unique in the organization.' }),
    name: t.exposeString('name'),
    clientId: t.exposeString('clientId'),
    authUrl: t.exposeString('authUrl', { description: 'Where people are sent.' }),
    tokenUrl: t.exposeString('tokenUrl', { description: 'Where codes and refresh tokens are used.' }),
    usesPkce: t.exposeBoolean('usesPkce', { description: 'Whether a code verifier is sent.' }),
    codeChallengeMethod: t.field({
      type: CodeChallengeMethod,
      nullable: true,
      select: { codeChallengeMethod: true },
      resolve: ({ codeChallengeMethod }) => codeChallengeMethod as (typeof CODE_CHALLENGE_METHODS)[number] | null,
    }),
    providerType: t.field({
      type: OAuthProviderType,
      nullable: true,
      select: { providerType: true },
      resolve: ({ providerType }) => providerType as ProviderTypeValue | null,
    }),
    mcpServerUrl: t.exposeString('mcpServerUrl', {
      nullable: true,
      description: 'Of a provider that was discovered: the MCP server that its tokens are for.',
    }),
    tokenEndpointAuthMethod: t.field({
      type: TokenEndpointAuthMethod,
      select: { tokenEndpointAuthMethod: true },
      resolve: ({ tokenEndpointAuthMethod }) => tokenEndpointAuthMethod as AuthMethod,
    }),
    isDynamicClient: t.exposeBoolean('isDynamicClient', { description: 'Its client was registered by this server.' }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('edit', { description: VERSION_DESCRIPTION }),
  }),
})

builder.queryFields((t) => ({
  oauthProvider: t.prismaField({
    type: OAuthProvider,
    nullable: true,
    description: 'One OAuth provider, by its id or its providerId; NOT_FOUND if there is none.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => selectProvider(ctx, { path: { provider_id: id } }, query),
  }),
  oauthProviders: t.connection(
    {
      type: OAuthProvider,
      description: 'The organization’s OAuth providers, newest first.',
      complexity: pageCost,
      resolve: async (_root, args, ctx, info) => {
        const selected = queryFromInfo({ context: ctx, info, typeName: 'OAuthProvider', paths: NODE_PATHS })
        // without a node nothing is selected, which would be everything, the sealed secret too
        const slice = await windowProviders(ctx, args, { select: KEYS, ...selected })
        return connectionOf(slice, args, newestCursor, () => countProviders(ctx))
      },
    },
    { name: 'OAuthProviderConnection' },
    { name: 'OAuthProviderEdge' },
  ),
}))
