/** A person's OAuth tokens over REST (docs/oauth.md#rules). Where an agent gets one is in connections.ts. */
import { z } from 'zod'
import { deleteInput, deleteOfUserInput, deleteToken, deleteTokensOfUser } from '../../../domain/oauth/tokens/delete.ts'
import { listInput, listTokens } from '../../../domain/oauth/tokens/list.ts'
import { updateInput, updateToken } from '../../../domain/oauth/tokens/update.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { deletedTokens, oauthToken } from '../responses/oauth-token.ts'

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
    ...singleResponse(200, 'All of them.', z.array(oauthToken), listTokens),
    errors: [],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/auth/tokens/{token_id}/metadata',
    operationId: 'updateOAuthTokenMetadata',
    summary: 'Name an OAuth token, or make it the default',
    description: 'Merges: an absent or null member keeps what is stored.',
    tag,
    input: updateInput,
    ...singleResponse(200, 'The token as it is now.', oauthToken, updateToken),
    errors: [404],
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
    ...noContent('It is gone.', deleteToken),
    errors: [404],
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
    ...singleResponse(200, 'None is left.', deletedTokens, deleteTokensOfUser),
    errors: [],
  }),
]
