/** The writes of a person's OAuth tokens: their metadata, and their end. */
import { NotFoundError } from '../../../domain/errors/errors.ts'
import { deleteInput, deleteOfUserInput, deleteToken, deleteTokensOfUser } from '../../../domain/oauth/tokens/delete.ts'
import { selectWritten } from '../../../domain/oauth/tokens/list.ts'
import { updateInput, updateToken } from '../../../domain/oauth/tokens/update.ts'
import { builder } from '../builder/builder.ts'
import { rowMutation } from '../builder/read-back.ts'
import { verbInput } from '../builder/verb-input.ts'
import { OAuthToken } from './oauth-token.ts'

const { success, readBack } = rowMutation('token', OAuthToken, selectWritten)

const DeleteOAuthTokenSuccess = builder.objectRef<{ tokenId: string }>('DeleteOAuthTokenSuccess').implement({
  description: 'The token is gone, and its connections with it.',
  fields: (t) => ({ tokenId: t.exposeID('tokenId') }),
})

const DeleteOAuthTokensOfUserSuccess = builder
  .objectRef<{ deleted: number }>('DeleteOAuthTokensOfUserSuccess')
  .implement({
    fields: (t) => ({ deleted: t.exposeInt('deleted', { description: 'How many there were.' }) }),
  })

// REST's second name of `is_default` is for those who know it from there
const { path, body } = updateInput.shape
const update = verbInput('UpdateOAuthTokenInput', updateInput.extend({ path, body: body.omit({ default: true }) }))
const remove = verbInput('DeleteOAuthTokenInput', deleteInput)
const removeOfUser = verbInput('DeleteOAuthTokensOfUserInput', deleteOfUserInput)

builder.mutationFields((t) => ({
  updateOAuthToken: t.field({
    type: success('UpdateOAuthTokenSuccess'),
    description: 'Names one of your OAuth tokens, or makes it the default. What is not given stays.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) => updateToken(ctx, update.raw(input), readBack(ctx, info)),
  }),
  deleteOAuthToken: t.field({
    type: DeleteOAuthTokenSuccess,
    description:
      'Deletes one of your OAuth tokens, with its connections, and revokes it at the provider, at once or as soon as it can be reached.',
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
      'Deletes all OAuth tokens of a user who has left, or of a key that was revoked, with their connections; each is revoked at its provider. For admins, who see none of them.',
    errors: {},
    args: { input: t.arg({ type: removeOfUser.type, required: true }) },
    resolve: async (_root, { input }, ctx) => ({ deleted: await deleteTokensOfUser(ctx, removeOfUser.raw(input)) }),
  }),
}))
