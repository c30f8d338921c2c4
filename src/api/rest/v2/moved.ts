/** Answers 410 for moved paths, with the new path. */
import type { FastifyInstance } from 'fastify'
import { DomainError } from '../../../domain/errors/errors.ts'

export function movedRoutes(fastify: FastifyInstance): void {
  fastify.post(
    '/v2/auth/agents/:agent_id/providers/:provider_id/tokens',
    {
      schema: { hide: true },
      config: { keyless: 'always' },
      onRequest: async (request) => {
        const path = request.url.split('?')[0]!.replace(/tokens$/, 'access-token')
        throw new DomainError('GONE', `This operation has moved: call POST ${path}.`)
      },
    },
    () => undefined,
  )
}
