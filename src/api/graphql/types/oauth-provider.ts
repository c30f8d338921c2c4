/** OAuth providers of the organization, and their mutations, which are for admins. */
import { queryFromInfo } from '@pothos/plugin-prisma'
import { z } from 'zod'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import { discoverInput, discoverMcpProvider } from '../../../domain/oauth/providers/discover.ts'
import {
  createInput,
  createProvider,
  deleteInput,
  deleteProvider,
  updateProvider,
} from '../../../domain/oauth/providers/manage.ts'
import { getProvider, providers } from '../../../domain/oauth/tokens/provider-access.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import {
  type AuthMethod,
  type CODE_CHALLENGE_METHODS,
  changes,
  type ProviderType as ProviderTypeValue,
  providerPath,
} from '../../../domain/values/oauth-provider.ts'
import { builder } from '../builder/builder.ts'
import { NODE_PATHS, newestOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { CodeChallengeMethod, OAuthProviderType, TokenEndpointAuthMethod } from '../builder/enums.ts'
import { mutation, VERSION_DESCRIPTION } from '../builder/mutation.ts'
import { rowMutation } from '../builder/read-back.ts'

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
    resolve: (query, _root, { id }, ctx) => getProvider(ctx, { path: { provider_id: id } }, query),
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

const written = rowMutation('oauthProvider', OAuthProvider, providers.written)

const DeleteOAuthProviderSuccess = builder
  .objectRef<{ id: string; providerId: string }>('DeleteOAuthProviderSuccess')
  .implement({
    description: 'The provider and its pending authorizations are deleted.',
    fields: (t) => ({ oauthProviderId: t.exposeID('id'), providerId: t.exposeString('providerId') }),
  })

// REST accepts its own answer as input; in GraphQL `providerId` only selects the provider
mutation('createOAuthProvider', {
  description:
    'Creates an OAuth provider for the whole organization. First register its client at the provider with the redirect URI `<this server>/v2/auth/callback/<providerId>`.',
  input: createInput,
  ...written,
  errors: [ConflictError],
  verb: createProvider,
})

mutation('updateOAuthProvider', {
  description:
    'Changes the given members and keeps the rest. A tokenUrl of another origin requires the clientSecret again, if there is one. The method `none` deletes the stored secret.',
  input: z.object({ path: providerPath, body: changes }),
  versioned: 'version',
  ...written,
  errors: [NotFoundError, PreconditionFailedError],
  verb: updateProvider,
})

mutation('deleteOAuthProvider', {
  description: 'Deletes an OAuth provider that has no tokens. With `force` it deletes the tokens, too.',
  input: deleteInput,
  versioned: 'version',
  type: DeleteOAuthProviderSuccess,
  errors: [NotFoundError, ConflictError, PreconditionFailedError],
  verb: (ctx, raw) => deleteProvider(ctx, raw, async (_sql, { id, providerId }) => ({ id, providerId })),
})

mutation('discoverMcpProvider', {
  description:
    'Creates an OAuth provider from an MCP server: reads the server’s authorization server and registers a client there. The result is an ordinary provider.',
  input: discoverInput,
  ...written,
  errors: [ConflictError, OAuthUnavailableError],
  verb: discoverMcpProvider,
})
