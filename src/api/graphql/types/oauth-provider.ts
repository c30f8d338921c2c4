/**
 * OAuth providers: third parties that issue tokens of people's accounts to agents (docs/oauth.md#rules).
 * oauth-provider-mutations.ts has the mutations.
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { providers } from '../../../domain/oauth/provider-access.ts'
import type {
  AuthMethod,
  CODE_CHALLENGE_METHODS,
  ProviderType as ProviderTypeValue,
} from '../../../domain/values/oauth-provider.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { CodeChallengeMethod, OAuthProviderType, TokenEndpointAuthMethod } from '../builder/enums.ts'
import { VERSION_DESCRIPTION } from '../builder/verb-input.ts'

/** columns that every list needs */
const KEYS = { id: true, createdAt: true } as const

export const OAuthProvider = builder.prismaObject('OAuthProvider', {
  description:
    'A client at a third party that issues tokens of people’s accounts. No answer contains its client secret.',
  interfaces: [builder.nodeInterfaceRef()],
  // select no whole row: it contains the client secret
  select: KEYS,
  fields: (t) => ({
    id: t.exposeID('id'),
    organizationId: t.exposeID('organizationId'),
    providerId: t.exposeString('providerId', {
      description: 'The provider’s id, chosen by the user and unique in the organization.',
    }),
    name: t.exposeString('name'),
    clientId: t.exposeString('clientId'),
    authUrl: t.exposeString('authUrl', { description: 'The URL where people authorize.' }),
    tokenUrl: t.exposeString('tokenUrl', { description: 'The URL that exchanges codes and refresh tokens.' }),
    usesPkce: t.exposeBoolean('usesPkce', { description: 'Whether PKCE is used.' }),
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
      description: 'The MCP server that the provider was discovered from. Its tokens are for this server.',
    }),
    tokenEndpointAuthMethod: t.field({
      type: TokenEndpointAuthMethod,
      select: { tokenEndpointAuthMethod: true },
      resolve: ({ tokenEndpointAuthMethod }) => tokenEndpointAuthMethod as AuthMethod,
    }),
    isDynamicClient: t.exposeBoolean('isDynamicClient', { description: 'Whether this server registered the client.' }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
  }),
})

builder.queryFields((t) => ({
  oauthProvider: t.prismaField({
    type: OAuthProvider,
    nullable: true,
    description: 'One OAuth provider by its id or its providerId. NOT_FOUND if it does not exist.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => providers.get(ctx, () => id, query),
  }),
  oauthProviders: t.connection(
    {
      type: OAuthProvider,
      description: 'The organization’s OAuth providers, newest first.',
      complexity: pageCost,
      resolve: async (_root, args, ctx, info) => {
        const selected = queryFromInfo({ context: ctx, info, typeName: 'OAuthProvider', paths: NODE_PATHS })
        // an empty selection would read whole rows with the sealed secret
        return newestOf(providers, ctx, args, { select: KEYS, ...selected })
      },
    },
    { name: 'OAuthProviderConnection' },
    { name: 'OAuthProviderEdge' },
  ),
}))
