/** Operations on OAuth authorizations (docs/oauth.md#rules). */
import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import {
  authenticateInput,
  waitForAuthorization,
  waitInput,
} from '../../../domain/oauth/authorizations/authorization.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { authorization } from '../responses/oauth-token.ts'

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
