/** The writes of OAuth providers: create, update, delete. For admins. */
import type { GraphQLResolveInfo } from 'graphql'
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../../domain/errors.ts'
import { createInput, createProvider } from '../../domain/providers/create.ts'
import { deleteInput, deleteProvider } from '../../domain/providers/delete.ts'
import { selectWritten } from '../../domain/providers/read.ts'
import { changes, providerPath } from '../../domain/providers/schemas.ts'
import { updateProvider } from '../../domain/providers/update.ts'
import type { OAuthProvider as Row } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import type { GraphQLContext } from '../context.ts'
import { verbInput } from '../verb-input.ts'
import { type Left, readsRow } from '../written.ts'
import { OAuthProvider } from './oauth-provider.ts'

/** The success of a mutation that answers a provider. */
export const success = (name: string) =>
  builder.objectRef<Left<Row>>(name).implement({
    fields: (t) => ({
      oauthProvider: t.field({ type: OAuthProvider, description: 'As this call left it.', resolve: ({ row }) => row! }),
    }),
  })

/** What its mutations read of it. */
export const readBack = (ctx: GraphQLContext, info: GraphQLResolveInfo) =>
  readsRow(ctx, info, 'oauthProvider', 'OAuthProvider', selectWritten)

const DeleteOAuthProviderSuccess = builder
  .objectRef<{ id: string; providerId: string }>('DeleteOAuthProviderSuccess')
  .implement({
    description: 'The provider is gone, and so are authorizations that were under way.',
    fields: (t) => ({ oauthProviderId: t.exposeID('id'), providerId: t.exposeString('providerId') }),
  })

const create = verbInput('CreateOAuthProviderInput', createInput)
// REST takes back what it gave; here `providerId` is which provider is meant
const update = verbInput('UpdateOAuthProviderInput', z.object({ path: providerPath, body: changes }))
const remove = verbInput('DeleteOAuthProviderInput', deleteInput)

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
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateProvider(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteOAuthProvider: t.field({
    type: DeleteOAuthProviderSuccess,
    description: 'Deletes an OAuth provider that no token is of any more, or, by `force`, with its tokens.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => deleteProvider(ctx, remove.raw(input)),
  }),
}))
