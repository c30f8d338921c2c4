/** The public keys of the tokens that agents get with each request. Agents and their libraries read them without a credential. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { callerKeySet } from '../../domain/keys/signing-keys.ts'
import type { Core } from '../../domain/transaction/context.ts'
import { documentedErrors, jsonContent } from './responses/errors.ts'

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })) }).meta({ id: 'KeySet' })

export function keySetRoute(fastify: FastifyInstance, core: Core): void {
  fastify.get('/.well-known/jwks.json', {
    config: { keyless: 'always' },
    exposeHeadRoute: false,
    schema: {
      operationId: 'getCallerKeys',
      summary: 'Get the public keys of X-Pilothouse-Caller',
      description:
        'Needs no credential. A JSON Web Key Set (RFC 7517). An agent verifies the JWT in `X-Pilothouse-Caller` with it. Clients may cache it for five minutes.',
      tags: ['Agents'],
      security: [],
      response: { 200: jsonContent('The keys.', keySet), ...documentedErrors(429, 500, 503) },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      return callerKeySet(core)
    },
  })
}
