/** The writes of a person's OAuth tokens: their metadata, and their end. */
import { NotFoundError } from '../../domain/errors.ts'
import { deleteInput, deleteToken } from '../../domain/tokens/delete.ts'
import { selectToken } from '../../domain/tokens/list.ts'
import { relabelInput, relabelToken } from '../../domain/tokens/relabel.ts'
import { builder } from '../builder.ts'
import { verbInput } from '../verb-input.ts'
import { OAuthToken } from './oauth-token.ts'

const UpdateOAuthTokenSuccess = builder.objectRef<{ tokenId: string }>('UpdateOAuthTokenSuccess').implement({
  fields: (t) => ({
    token: t.prismaField({
      type: OAuthToken,
      resolve: (query, { tokenId }, _args, ctx) => selectToken(ctx, { path: { token_id: tokenId } }, query),
    }),
  }),
})

const DeleteOAuthTokenSuccess = builder.objectRef<{ tokenId: string }>('DeleteOAuthTokenSuccess').implement({
  description: 'The token is gone, and its connections with it.',
  fields: (t) => ({ tokenId: t.exposeID('tokenId') }),
})

// REST's second name of `is_default` is for those who know it from there
const { path, body } = relabelInput.shape
const update = verbInput('UpdateOAuthTokenInput', relabelInput.extend({ path, body: body.omit({ default: true }) }))
const remove = verbInput('DeleteOAuthTokenInput', deleteInput)

builder.mutationFields((t) => ({
  updateOAuthToken: t.field({
    type: UpdateOAuthTokenSuccess,
    description: 'Names one of your OAuth tokens, or makes it the default. What is not given stays.',
    errors: { types: [NotFoundError] },
    args: { input: t.arg({ type: update.type, required: true }) },
    resolve: async (_root, { input }, ctx) => ({ tokenId: (await relabelToken(ctx, update.raw(input))).id }),
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
}))
