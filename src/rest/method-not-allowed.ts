/** A path that exists, called with a method that it does not have, is 405 with `Allow`, not 404. */
import type { FastifyInstance } from 'fastify'
import { DomainError } from '../domain/errors.ts'
import { type Operation, routePath } from './operation.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

export function methodNotAllowed(fastify: FastifyInstance, operations: readonly Operation[]): void {
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const own: string[] = operations.filter((operation) => operation.path === path).map(({ method }) => method)
    // Fastify answers HEAD wherever there is a GET
    const allowed = own.includes('GET') ? ['HEAD', ...own] : own
    fastify.route({
      method: METHODS.filter((method) => !allowed.includes(method)),
      url: routePath(path),
      schema: { hide: true },
      onRequest: async (request, reply) => {
        reply.header('allow', allowed.join(', '))
        throw new DomainError('METHOD_NOT_ALLOWED', `${request.method} is not allowed here; use ${allowed.join(', ')}.`)
      },
      handler: () => {},
    })
  }
}
