/** The writes of OAuth providers: create, discover from an MCP server, update, delete. For admins. */
import { z } from 'zod'
import { ConflictError, NotFoundError, PreconditionFailedError } from '../../../domain/errors/errors.ts'
import { createInput, createProvider } from '../../../domain/oauth/providers/create.ts'
import { deleteInput, deleteProvider } from '../../../domain/oauth/providers/delete.ts'
import { discoverInput, discoverMcpProvider } from '../../../domain/oauth/providers/discover.ts'
import { selectWritten } from '../../../domain/oauth/providers/read.ts'
import { updateProvider } from '../../../domain/oauth/providers/update.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { changes, providerPath } from '../../../domain/values/oauth-provider.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { OAuthProvider } from './oauth-provider.ts'

const { success, readBack } = rowMutation('oauthProvider', OAuthProvider, selectWritten)

const DeleteOAuthProviderSuccess = builder
  .objectRef<{ id: string; providerId: string }>('DeleteOAuthProviderSuccess')
  .implement({
    description: 'The provider is gone, and so are authorizations that were under way.',
    fields: (t) => ({ oauthProviderId: t.exposeID('id'), providerId: t.exposeString('providerId') }),
  })

const create = verbInput('CreateOAuthProviderInput', createInput)
// REST takes back what it gave; here `providerId` is which provider is meant
const update = verbInput('UpdateOAuthProviderInput', z.object({ path: providerPath, body: changes }), 'version')
const discover = verbInput('DiscoverMcpProviderInput', discoverInput)
const remove = verbInput('DeleteOAuthProviderInput', deleteInput, 'version')

builder.mutationFields((t) => ({
  createOAuthProvider: t.field({
    type: success('CreateOAuthProviderSuccess'),
    description:
      'Creates an OAuth provider for the whole organization. Its client is registered at the provider before, with the redirect URI `<this server>/v2/auth/callback/<providerId>`.',
    errors: { types: [ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => createProvider(ctx, create.raw(input), readBack(ctx, info)),
  }),
  updateOAuthProvider: t.field({
    type: success('UpdateOAuthProviderSuccess'),
    description:
      'Changes what is given and keeps the rest. A tokenUrl of another origin needs the clientSecret again, if there is one. The method `none` drops the stored secret.',
    errors: { types: [NotFoundError, PreconditionFailedError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateProvider(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteOAuthProvider: t.field({
    type: DeleteOAuthProviderSuccess,
    description: 'Deletes an OAuth provider that no token is of any more, or, by `force`, with its tokens.',
    errors: { types: [NotFoundError, ConflictError, PreconditionFailedError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: (_root, { input }, ctx) =>
      deleteProvider(ctx, remove.raw(input), async (_sql, { id, providerId }) => ({ id, providerId })),
  }),
  discoverMcpProvider: t.field({
    type: success('DiscoverMcpProviderSuccess'),
    description:
      'Creates an OAuth provider from an MCP server: reads which authorization server it names, and registers a client there. From then on it is a provider like any other.',
    errors: { types: [ConflictError, OAuthUnavailableError] },
    args: { input: t.arg({ type: discover.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => discoverMcpProvider(ctx, discover.raw(input), readBack(ctx, info)),
  }),
}))
