/**
 * Sign-in of a browser: POST /v2/sessions and the list of sign-in methods. Both need no credential in the headers, so they are not
 * declared as operations. The key or the code in the body is the credential.
 */
import type { FastifyInstance } from 'fastify'
import { openInput } from '../../domain/sessions/open.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { SignIn } from '../auth/sign-in.ts'
import { HttpRequestScope } from '../limits/request-scope.ts'
import { documentedErrors, jsonContent } from './responses/errors.ts'
import { encode } from './responses/response-schema.ts'
import { openedSession, signInMethods } from './responses/session.ts'

export interface SignInOptions {
  signIn: SignIn
  /** display name of the organization's login; null: there is none */
  oidcName: string | null
}

export const NO_STORE = { 'cache-control': 'no-store' }

export function signInRoutes(fastify: FastifyInstance, { signIn, oidcName }: SignInOptions): void {
  fastify.post('/v2/sessions', {
    schema: {
      operationId: 'createSession',
      summary: 'Sign in',
      description:
        'Opens a session for a browser, with an API key (of the role `viewer`, `deployer` or `admin`) or with a code that works once. The session has two halves: the cookie of the answer, and `half`, which you send as `X-Session`. One half alone is answered 401. The session has the rights of its key or login and ends with it. It never shows values of secrets. A page of another origin is refused (403).',
      tags: ['Sessions'],
      security: [],
      body: openInput.shape.body,
      response: {
        201: {
          ...jsonContent('The session.', openedSession),
          headers: { 'Set-Cookie': { type: 'string', description: 'The half that pages can’t read.' } },
        },
        ...documentedErrors(401, 403, 413, 415, 422, 429, 500, 503),
      },
    },
    handler: async (request, reply) => {
      const { raw, host, protocol } = request
      const requestScope = new HttpRequestScope(request, reply)
      reply.headers(NO_STORE)
      const input = { body: request.body ?? undefined, query: request.query }
      const opened = await signIn.open(input, { headers: raw.headers, host, protocol }, requestScope)
      const { row, half, workspaceId } = opened
      // the context of the new session, so that the answer shows it as current
      const ctx = { credential: { kind: 'session', sessionId: row.id, keyId: row.apiKeyId } } as RequestContext
      reply.code(201).header('set-cookie', opened.cookieHeader)
      return encode(openedSession, { session: row, half, workspaceId }, ctx)
    },
  })
  fastify.get('/v2/sessions/methods', {
    config: { keyless: 'always' },
    schema: {
      operationId: 'getSignInMethods',
      summary: 'List the ways to sign in',
      description: 'Needs no credential.',
      tags: ['Sessions'],
      security: [],
      response: { 200: jsonContent('The available ways to sign in.', signInMethods), ...documentedErrors(429, 500) },
    },
    handler: async (_request, reply) => {
      reply.headers(NO_STORE)
      return { api_key: true, oidc: oidcName === null ? null : { name: oidcName } }
    },
  })
}
