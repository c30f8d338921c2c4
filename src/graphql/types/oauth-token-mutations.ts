/** The writes of a person's OAuth tokens: their metadata, and their end. */
import { NotFoundError } from '../../domain/errors.ts'
import { deleteInput, deleteToken } from '../../domain/tokens/delete.ts'
import { deleteOfUserInput, deleteTokensOfUser } from '../../domain/tokens/delete-of-user.ts'
import { selectWritten } from '../../domain/tokens/list.ts'
import { relabelInput, relabelToken } from '../../domain/tokens/relabel.ts'
import type { OAuthToken as Row } from '../../generated/prisma/client.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'
import { type Left, readsRow } from '../written.ts'
import { OAuthToken } from './oauth-token.ts'

const UpdateOAuthTokenSuccess = builder.objectRef<Left<Row>>('UpdateOAuthTokenSuccess').implement({
  fields: (t) => ({
    token: t.field({ type: OAuthToken, description: 'As this call left it.', resolve: ({ row }) => row! }),
  }),
})

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
const { path, body } = relabelInput.shape
const update = verbInput('UpdateOAuthTokenInput', relabelInput.extend({ path, body: body.omit({ default: true }) }))
const remove = verbInput('DeleteOAuthTokenInput', deleteInput)
const removeOfUser = verbInput('DeleteOAuthTokensOfUserInput', deleteOfUserInput)

builder.mutationFields((t) => ({
  updateOAuthToken: t.field({
    type: UpdateOAuthTokenSuccess,
    description: 'Names one of your OAuth tokens, or makes it the default. What is not given stays.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: (_root, { input }, ctx, info) =>
      relabelToken(ctx, update.raw(input), readsRow(ctx, info, 'token', 'OAuthToken', selectWritten)),
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
