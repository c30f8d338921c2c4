/** Authorizations over REST (contract 8): where a person has to go, and the wait for them. */
import { authenticateInput, waitInput } from '../../domain/authorizations/schemas.ts'
import { authenticate } from '../../domain/authorizations/start.ts'
import { waitForAuthorization } from '../../domain/authorizations/wait.ts'
import { authorization } from '../oauth-schemas.ts'
import { type Operation, operation } from '../operation.ts'
import { presentAuthorization } from '../present/authorization.ts'

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
    answers: { 200: { means: 'Where the person stands.', schema: authorization } },
    errors: [404, 409],
    // whoever has the url, which has the state in it, can finish the authorization
    headers: { 'cache-control': 'no-store' },
    handle: async (ctx, raw) => ({ status: 200, body: presentAuthorization(await authenticate(ctx, raw)) }),
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
    answers: { 200: { means: 'What has become of it.', schema: authorization } },
    errors: [404, 409],
    handle: async (ctx, raw) => ({ status: 200, body: presentAuthorization(await waitForAuthorization(ctx, raw)) }),
  }),
]
