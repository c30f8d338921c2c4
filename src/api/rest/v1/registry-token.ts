/**
 * The realm of the container registry's token protocol, called by `docker login HOST -u token -p <push token>`. Its credential
 * is a push token as the password of Basic auth, so it is not declared as an operation.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { UnauthenticatedError } from '../../../domain/errors/errors.ts'
import { exchangeInput, exchangeToken } from '../../../domain/sources/registry-tokens.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import { errorText } from '../framework/errors.ts'
import { documentedErrors, errorBody, jsonContent } from '../responses/errors.ts'

const answer = z
  .object({
    token: z.string(),
    access_token: z.string().describe('The same as `token`.'),
    expires_in: z.int().describe('Lifetime of the token, in seconds.'),
    issued_at: z.iso.datetime(),
  })
  .meta({ id: 'RegistryToken' })

export function registryTokenRoute(fastify: FastifyInstance, core: Core): void {
  fastify.get('/v1/registry/token', {
    config: { keyless: 'unlessSuccessful' },
    schema: {
      operationId: 'exchangeRegistryToken',
      summary: 'Exchange a push token for a token of one request to the registry',
      description:
        'Container engines call it: it is the `realm` in the token settings of the registry. Use Basic auth with any user name and a push token as the password. The answer allows the requested access that the push token allows too. It does not outlive the push token.',
      tags: ['Deployments'],
      security: [],
      querystring: exchangeInput.shape.query,
      response: {
        200: jsonContent('A token for the registry.', answer),
        404: jsonContent('No container registry is configured.', errorBody),
        ...documentedErrors(401, 422, 429),
      },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      try {
        const { token, expiresIn, issuedAt } = await exchangeToken(core, passwordOf(request), { query: request.query })
        return { token, access_token: token, expires_in: expiresIn, issued_at: issuedAt.toISOString() }
      } catch (error) {
        if (!(error instanceof UnauthenticatedError)) throw error
        // instead of the API's Bearer challenge
        reply.code(401).header('www-authenticate', 'Basic realm="pilothouse"').type('application/json')
        return reply.send(errorText(error, request.id))
      }
    },
  })
}

/** Null: no valid Basic auth. */
function passwordOf(request: FastifyRequest): string | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString()
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : null
}
