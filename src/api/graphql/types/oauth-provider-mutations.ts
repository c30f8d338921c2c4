/** Mutations of OAuth providers: create, discover from an MCP server, update and delete. For admins. */
import { z } from 'zod'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import { providers } from '../../../domain/oauth/provider-access.ts'
import { discoverInput, discoverMcpProvider } from '../../../domain/oauth/providers/discover.ts'
import {
  createInput,
  createProvider,
  deleteInput,
  deleteProvider,
  updateProvider,
} from '../../../domain/oauth/providers/manage.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { changes, providerPath } from '../../../domain/values/oauth-provider.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { OAuthProvider } from './oauth-provider.ts'

const { success, readBack } = rowMutation('oauthProvider', OAuthProvider, providers.written)

const DeleteOAuthProviderSuccess = builder
  .objectRef<{ id: string; providerId: string }>('DeleteOAuthProviderSuccess')
  .implement({
    description: 'The provider and its pending authorizations are deleted.',
    fields: (t) => ({ oauthProviderId: t.exposeID('id'), providerId: t.exposeString('providerId') }),
  })

const create = verbInput('CreateOAuthProviderInput', createInput)
// REST accepts its own answer as input; in GraphQL `providerId` only selects the provider
const update = verbInput('UpdateOAuthProviderInput', z.object({ path: providerPath, body: changes }), 'version')
const discover = verbInput('DiscoverMcpProviderInput', discoverInput)
const remove = verbInput('DeleteOAuthProviderInput', deleteInput, 'version')

builder.mutationFields((t) => ({
  createOAuthProvider: t.field({
    type: success('CreateOAuthProviderSuccess'),
    description:
      'Creates an OAuth provider for the whole organization. First register its client at the provider with the redirect URI `<this server>/v2/auth/callback/<providerId>`.',
    errors: { types: [ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createProvider(ctx, create.raw(input), readBack(ctx, info)),
  }),
  updateOAuthProvider: t.field({
    type: success('UpdateOAuthProviderSuccess'),
    description:
      'Changes the given members and keeps the rest. A tokenUrl of another origin requires the clientSecret again, if there is one. The method `none` deletes the stored secret.',
    errors: { types: [NotFoundError, PreconditionFailedError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateProvider(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteOAuthProvider: t.field({
    type: DeleteOAuthProviderSuccess,
    description: 'Deletes an OAuth provider that has no tokens. With `force` it deletes the tokens, too.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: (_root, { input }, ctx) =>
      deleteProvider(ctx, remove.raw(input), async (_sql, { id, providerId }) => ({ id, providerId })),
  }),
  discoverMcpProvider: t.field({
    type: success('DiscoverMcpProviderSuccess'),
    description:
      'Creates an OAuth provider from an MCP server: reads the server’s authorization server and registers a client there. The result is an ordinary provider.',
    errors: { types: [ConflictError, OAuthUnavailableError] },
    args: { input: t.arg({ type: discover.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => discoverMcpProvider(ctx, discover.raw(input), readBack(ctx, info)),
  }),
}))
