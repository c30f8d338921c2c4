/**
 * The machine's calls of a login (docs/api-rules.md#logins): begin, and wait for the key. They need no API key, so they are not
 * declared as operations. Each call is charged to the address.
 */
import type { FastifyInstance } from 'fastify'
import { beginInput, beginLogin } from '../../domain/logins/login.ts'
import { waitForLogin, waitInput } from '../../domain/logins/pick-up.ts'
import type { Core, RequestContext } from '../../domain/transaction/context.ts'
import { HttpRequestScope } from '../limits/request-scope.ts'
import { documentedErrors, jsonContent } from './responses/errors.ts'
import { encode } from './responses/response-schema.ts'
import { begunLogin, loginOutcome } from './responses/session.ts'
import { NO_STORE } from './sign-in.ts'

const SECRET_HEADER = 'x-login-secret'

export function loginRoutes(fastify: FastifyInstance, core: Core): void {
  // nothing in these answers depends on a caller
  const ctx = core as RequestContext
  fastify.post('/v2/logins', {
    config: { keyless: 'always' },
    schema: {
      operationId: 'beginLogin',
      summary: 'Begin a login of the command line',
      description:
        'Needs no credential. Show the code and the URL to a person, who approves the login within ten minutes. A server has at most 1000 open logins, and 20 of one address (429).',
      tags: ['Logins'],
      security: [],
      body: beginInput.shape.body,
      response: { 201: jsonContent('The login.', begunLogin), ...documentedErrors(413, 415, 422, 429, 500, 503) },
    },
    handler: async (request, reply) => {
      const { address } = new HttpRequestScope(request, reply)
      reply.headers(NO_STORE)
      const begun = await beginLogin(core, address, { body: request.body ?? undefined, query: request.query })
      reply.code(201)
      return encode(begunLogin, begun, ctx)
    },
  })
  fastify.get('/v2/logins/:login_id', {
    config: { keyless: 'always' },
    exposeHeadRoute: false,
    schema: {
      operationId: 'waitForLogin',
      summary: 'Wait for the decision about a login, and get its key',
      description:
        'The answer is `pending` when the wait ends without a decision. With `approved` it contains the API key. A repeat gets the same key until the login expires, so a lost answer loses no key. `refused` also means that the approver’s key, or the key of the login, has ended.',
      tags: ['Logins'],
      security: [{ LoginSecret: [] }],
      params: waitInput.shape.path,
      querystring: waitInput.shape.query,
      response: { 200: jsonContent('The outcome.', loginOutcome), ...documentedErrors(401, 404, 422, 429, 500, 503) },
    },
    handler: async (request, reply) => {
      const { gone } = new HttpRequestScope(request, reply)
      reply.headers(NO_STORE)
      const given = request.headers[SECRET_HEADER]
      const secret = typeof given === 'string' && given !== '' ? given : null
      const outcome = await waitForLogin(core, secret, { path: request.params, query: request.query }, gone)
      return encode(loginOutcome, outcome, ctx)
    },
  })
}
