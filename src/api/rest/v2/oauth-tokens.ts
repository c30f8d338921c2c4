/** Operations on a person's authorizations and OAuth tokens (docs/oauth.md#rules). Agents get access tokens by connections.ts. */
import { z } from 'zod'
import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import {
  authenticateInput,
  waitForAuthorization,
  waitInput,
} from '../../../domain/oauth/authorizations/authorization.ts'
import { deleteInput, deleteOfUserInput, deleteToken, deleteTokensOfUser } from '../../../domain/oauth/tokens/delete.ts'
import { listInput, listTokens, updateInput, updateToken } from '../../../domain/oauth/tokens/token.ts'
import { noContent, type Operation, operation, singleResponse } from '../framework/operation.ts'
import { authorization, deletedTokens, oauthToken } from '../responses/oauth-token.ts'

/** Operations on OAuth authorizations (docs/oauth.md#rules). */
const tag = 'OAuth tokens'

export const authorizations: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/authenticate',
    operationId: 'authenticate',
    summary: 'Get a token for a person’s account, or the page where the person authorizes it',
    description:
      'Answers immediately. Unless the status is `completed`, the person opens `url` once, within 15 minutes. GET /v2/auth/wait/{auth_id} answers when the person has returned. With `connection_required` you can connect the agent to the existing token instead.',
    tag,
    input: authenticateInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'The state of the authorization.', authorization, authenticate),
    errors: [404, 409],
    // `url` contains the state, which is enough to finish the authorization
    headers: { 'cache-control': 'no-store' },
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/wait/{auth_id}',
    operationId: 'waitForAuthorization',
    summary: 'Wait until the person has returned',
    description:
      'Answers when the authorization is `completed`, or `pending` when the wait ends. It answers 409 with the reason if the authorization failed: the person declined, the provider refused, or the time ran out. Only the caller that started the authorization and the user who gets the token may call it.',
    tag,
    input: waitInput,
    ...singleResponse(200, 'The state of the authorization.', authorization, waitForAuthorization),
    errors: [404, 409],
  }),
]

export const oauthTokens: Operation[] = [
  operation({
    method: 'GET',
    path: '/v2/auth/tokens',
    operationId: 'listOAuthTokens',
    summary: 'List your OAuth tokens, newest first',
    description:
      'Lists the tokens of the caller in this workspace. Other callers can’t see them. The tokens themselves are not shown.',
    tag,
    input: listInput,
    ...singleResponse(200, 'All your tokens.', z.array(oauthToken), listTokens),
    errors: [],
  }),
  operation({
    method: 'PATCH',
    path: '/v2/auth/tokens/{token_id}/metadata',
    operationId: 'updateOAuthTokenMetadata',
    summary: 'Label an OAuth token, or make it the default',
    description: 'An absent or null member keeps the stored value.',
    tag,
    input: updateInput,
    ...singleResponse(200, 'The updated token.', oauthToken, updateToken),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/tokens/{token_id}',
    operationId: 'deleteOAuthToken',
    summary: 'Delete an OAuth token',
    description:
      'Also deletes its connections, so no agent gets the token any more. The token is revoked at the provider if the provider supports it. While the provider can’t be reached, the revocation is retried for a day.',
    tag,
    input: deleteInput,
    ...noContent('The token is deleted.', deleteToken),
    errors: [404],
  }),
  operation({
    method: 'DELETE',
    path: '/v2/auth/tokens',
    operationId: 'deleteOAuthTokensOfUser',
    summary: 'Delete all OAuth tokens of a user or of a key',
    description:
      'For admins, after a user has left or a key was revoked. Admins can’t see these tokens. Their connections are deleted too, and each token is revoked at its provider.',
    tag,
    input: deleteOfUserInput,
    ...singleResponse(200, 'The number of deleted tokens.', deletedTokens, deleteTokensOfUser),
    errors: [],
  }),
]
