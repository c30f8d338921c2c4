/** A person's OAuth tokens over REST (contract 8). Where an agent gets one is in agent-tokens.ts. */
import { z } from 'zod'
import { deleteInput, deleteToken } from '../../domain/tokens/delete.ts'
import { deleteOfUserInput, deleteTokensOfUser } from '../../domain/tokens/delete-of-user.ts'
import { listInput, listTokens } from '../../domain/tokens/list.ts'
import { relabelInput, relabelToken } from '../../domain/tokens/relabel.ts'
import { deletedTokens, oauthToken } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentOAuthToken } from '../present/oauth-token.ts'

const tag = 'OAuth tokens'

export const oauthTokens: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/auth/tokens',
    operationId: 'listOAuthTokens',
    summary: 'List your OAuth tokens, newest first',
    description: 'Those of the caller in this workspace; nobody else sees them. The tokens themselves are not shown.',
    tag,
    input: listInput,
    answers: { 200: { means: 'All of them.', schema: z.array(oauthToken) } },
    errors: [],
    handle: async (ctx, raw) => ({
      status: 200,
      body: (await listTokens(ctx, raw)).map((row) => presentOAuthToken(ctx, row)),
    }),
  }),
  operation({
    method: 'PATCH',
    path: '/v2/auth/tokens/{token_id}/metadata',
    operationId: 'updateOAuthTokenMetadata',
    summary: 'Name an OAuth token, or make it the default',
    description: 'Merges: an absent or null member keeps what is stored.',
    tag,
    input: relabelInput,
    answers: { 200: { means: 'The token as it is now.', schema: oauthToken } },
    errors: [404],
    handle: async (ctx, raw) => ({ status: 200, body: presentOAuthToken(ctx, await relabelToken(ctx, raw)) }),
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/tokens/{token_id}',
    operationId: 'deleteOAuthToken',
    summary: 'Delete an OAuth token',
    description:
      'With its connections: from then on no agent gets it. It is revoked at the provider, too, if that offers it; while the provider can’t be reached that is tried again for a day.',
    tag,
    input: deleteInput,
    answers: { 204: { means: 'It is gone.', schema: null } },
    errors: [404],
    handle: async (ctx, raw) => {
      await deleteToken(ctx, raw)
      return { status: 204, body: null }
    },
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/tokens',
    operationId: 'deleteOAuthTokensOfUser',
    summary: 'Delete all OAuth tokens of a user who has left, or of a key that was revoked',
    description:
      'For admins, who see none of them. Their connections go with them, and each is revoked at its provider.',
    tag,
    input: deleteOfUserInput,
    answers: { 200: { means: 'None is left.', schema: deletedTokens } },
    errors: [],
    handle: async (ctx, raw) => ({ status: 200, body: { deleted: await deleteTokensOfUser(ctx, raw) } }),
  }),
]
