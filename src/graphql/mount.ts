/** Puts the GraphQL server into Fastify by Node's own request and response: half the CPU of a bridge through fetch. */
import type { FastifyInstance } from 'fastify'
import type { Connections } from '../limits/connections.ts'
import { visitOf } from '../limits/visit.ts'
import { GRAPHQL_PATH, type GraphQLServer } from './yoga.ts'

/** `connections`: of this server */
export function mountGraphql(fastify: FastifyInstance, connections: Connections, yoga: GraphQLServer): void {
  fastify.register(async (scope) => {
    // Yoga reads the body itself
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.route({
      url: GRAPHQL_PATH,
      // Yoga says of the others that they are not allowed
      method: ['GET', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'],
      config: { keyless: 'toBrowsers', allow: ['GET', 'HEAD', 'POST', 'OPTIONS'] },
      async handler(request, reply) {
        reply.hijack()
        const onCaller = (subject: string) => {
          request.subject = subject
        }
        const visit = visitOf(request, reply, { connections })
        await yoga.handle(request.raw, reply.raw, { requestId: request.id, visit, onCaller })
      },
    })
    // streams that are open end with the relay; this ends what Yoga itself holds
    scope.addHook('onClose', async () => yoga.dispose())
  })
}
