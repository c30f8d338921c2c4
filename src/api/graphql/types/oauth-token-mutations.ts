/** Mutations of a person's OAuth tokens: change the metadata and delete. */
import { NotFoundError } from '../../../domain/errors/errors.ts'
import { deleteInput, deleteOfUserInput, deleteToken, deleteTokensOfUser } from '../../../domain/oauth/tokens/delete.ts'
import { tokens, updateInput, updateToken } from '../../../domain/oauth/tokens/token.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { OAuthToken } from './oauth-token.ts'

const { success, readBack } = rowMutation('token', OAuthToken, tokens.written)

const DeleteOAuthTokenSuccess = builder.objectRef<{ tokenId: string }>('DeleteOAuthTokenSuccess').implement({
  description: 'The token and its connections are deleted.',
  fields: (t) => ({ tokenId: t.exposeID('tokenId') }),
})

const DeleteOAuthTokensOfUserSuccess = builder
  .objectRef<{ deleted: number }>('DeleteOAuthTokensOfUserSuccess')
  .implement({
    fields: (t) => ({ deleted: t.exposeInt('deleted', { description: 'The number of deleted tokens.' }) }),
  })

// `default` is a second name that only REST has for `is_default`
const { path, body } = updateInput.shape
const update = verbInput('UpdateOAuthTokenInput', updateInput.extend({ path, body: body.omit({ default: true }) }))
const remove = verbInput('DeleteOAuthTokenInput', deleteInput)
const removeOfUser = verbInput('DeleteOAuthTokensOfUserInput', deleteOfUserInput)

builder.mutationFields((t) => ({
  updateOAuthToken: t.field({
    type: success('UpdateOAuthTokenSuccess'),
    description: 'Labels one of your OAuth tokens or makes it the default. Absent members stay unchanged.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateToken(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteOAuthToken: t.field({
    type: DeleteOAuthTokenSuccess,
    description:
      'Deletes one of your OAuth tokens and its connections, and revokes it at the provider. If the provider can’t be reached, revocation is retried.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: remove.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      await deleteToken(ctx, remove.raw(input))
      return { tokenId: input.tokenId as string }
    },
  }),
  deleteOAuthTokensOfUser: t.field({
    type: DeleteOAuthTokensOfUserSuccess,
    description:
      'Deletes all OAuth tokens of a user who left, or of a revoked key, with their connections. Each is revoked at its provider. For admins, who can’t see the tokens.',
    errors: {},
    args: { input: t.arg({ type: removeOfUser.type, required: true }) },
    resolve: async (_root, { input }, ctx) => ({ deleted: await deleteTokensOfUser(ctx, removeOfUser.raw(input)) }),
  }),
}))
