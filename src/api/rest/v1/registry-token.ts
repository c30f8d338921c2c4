/**
 * The realm of the container registry's token protocol: `docker login HOST -u token -p <push token>` comes here. It has
 * its own kind of credential, a push token as the password of Basic auth, so it is no operation with a caller.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { UnauthenticatedError } from '../../../domain/errors/errors.ts'
import { exchangeInput, exchangeToken } from '../../../domain/sources/registry/token-endpoint.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import { errorText } from '../framework/errors.ts'
import { errorBody, errorDescriptions, validationErrorBody } from '../responses/errors.ts'

const answer = z
  .object({
    token: z.string(),
    access_token: z.string().describe('The same.'),
    expires_in: z.int().describe('Seconds.'),
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
        'For container engines: the `realm` in the token settings of the registry. Basic auth; the password is a push token, any user name will do. The answer allows what is asked for and what that token allows, for no longer than it.',
      tags: ['Deployments'],
      security: [],
      querystring: exchangeInput.shape.query,
      response: {
        200: { description: 'A token for the registry.', content: { 'application/json': { schema: answer } } },
        401: { description: errorDescriptions[401]!, content: { 'application/json': { schema: errorBody } } },
        404: {
          description: 'No container registry is configured.',
          content: { 'application/json': { schema: errorBody } },
        },
        429: { description: errorDescriptions[429]!, content: { 'application/json': { schema: errorBody } } },
        422: { description: errorDescriptions[422]!, content: { 'application/json': { schema: validationErrorBody } } },
      },
    },
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store')
      try {
        const { token, expiresIn, issuedAt } = await exchangeToken(core, passwordOf(request), { query: request.query })
        return { token, access_token: token, expires_in: expiresIn, issued_at: issuedAt.toISOString() }
      } catch (error) {
        if (!(error instanceof UnauthenticatedError)) throw error
        // the API's own challenge asks for a Bearer
        reply.code(401).header('www-authenticate', 'Basic realm="pilothouse"').type('application/json')
        return reply.send(errorText(error, request.id))
      }
    },
  })
}

/** Null: there is no Basic auth, or it can't be read. */
function passwordOf(request: FastifyRequest): string | null {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString()
  return text.includes(':') ? text.slice(text.indexOf(':') + 1) : null
}
