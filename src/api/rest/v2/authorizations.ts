/** Authorizations over REST (docs/oauth.md#rules): where a person has to go, and the wait for them. */

import { authenticate } from '../../../domain/oauth/authorizations/authenticate.ts'
import { authenticateInput, waitInput } from '../../../domain/oauth/authorizations/schemas.ts'
import { waitForAuthorization } from '../../../domain/oauth/authorizations/wait.ts'
import { type Operation, operation, singleResponse } from '../framework/operation.ts'
import { authorization } from '../responses/oauth-token.ts'

const tag = 'OAuth tokens'

export const authorizations: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/auth/authenticate',
    operationId: 'authenticate',
    summary: 'Get a token of a person’s account, or the address where they give it',
    description:
      'Answers at once. Unless it is `completed`, the person opens `url` within 15 minutes, once, and GET /v2/auth/wait/{auth_id} tells when they are back. With `connection_required` an agent can be connected to the token that is there instead.',
    tag,
    input: authenticateInput,
    idempotency: 'no-effect',
    ...singleResponse(200, 'Where the person stands.', authorization, authenticate),
    errors: [404, 409],
    // whoever has the url, which has the state in it, can finish the authorization
    headers: { 'cache-control': 'no-store' },
  }),
  operation({
    method: 'GET',
    path: '/v2/auth/wait/{auth_id}',
    operationId: 'waitForAuthorization',
    summary: 'Wait until the person is back',
    description:
      'Answers as soon as it is `completed`, or `pending` when the time is up; 409 with the reason when it has failed: declined, refused, or not finished in time. For who began it and for whose token it is to be.',
    tag,
    input: waitInput,
    ...singleResponse(200, 'What has become of it.', authorization, waitForAuthorization),
    errors: [404, 409],
  }),
]
