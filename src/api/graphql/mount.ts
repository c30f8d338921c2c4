/** The route of GraphQL: requests go to Yoga, and WebSockets to those who carry their operations there. */
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Core } from '../../domain/transaction/context.ts'
import type { Authenticate } from '../auth/authenticate.ts'
import { CACHING } from '../auth/cache-headers.ts'
import type { Connections } from '../limits/connection-limit.ts'
import { visitOf } from '../limits/request-scope.ts'
import { presentError } from './builder/errors.ts'
import type { Begun, Entry } from './fast-path/fast-path.ts'
import { untouched } from './subscriptions/untouched.ts'
import { refuseDataPlane } from './use-authentication.ts'
import type { Engine } from './websocket/operation.ts'
import { createWebSockets } from './websocket/server.ts'
import { GRAPHQL_PATH, type GraphQLServer, MAX_BODY_BYTES } from './yoga.ts'

export interface MountOptions {
  core: Core
  authenticate: Authenticate
  yoga: GraphQLServer
  entry: Entry
  /** of this server */
  connections: Connections
  /** aborts when the server stops */
  stopping: AbortSignal
}

/** By Node's own request and response, which takes half the CPU of a bridge through fetch. */
export function mountGraphql(fastify: FastifyInstance, options: MountOptions): void {
  const { core, yoga, entry, connections, stopping } = options
  const webSockets = createWebSockets({
    core,
    authenticate: async (...call) => refuseDataPlane(await options.authenticate(...call)),
    engine: engineOf(core, yoga),
    connections,
    longestMessage: MAX_BODY_BYTES,
    stopping,
  })
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
        if (request.raw.tunnel) {
          webSockets.take(request, reply)
          return
        }
        for (const [name, value] of Object.entries(CACHING)) reply.raw.setHeader(name, value)
        const onCaller = (subject: string) => {
          request.subject = subject
        }
        const visit = visitOf(request, reply, { connections })
        const begun: Begun = {}
        if (await entry.answer(request, reply, visit, begun)) return
        const untouch = untouched(request.raw, reply.raw)
        await yoga.handle(request.raw, reply.raw, { ...begun, requestId: request.id, visit, onCaller, untouch })
      },
    })
    // streams that are open end with the relay; this ends what Yoga itself holds
    scope.addHook('onClose', async () => yoga.dispose())
  })
}

/** What Yoga reads is a request to somewhere. */
const SOMEWHERE = `http://websocket${GRAPHQL_PATH}`

/** An operation of a WebSocket is a request to Yoga: so it is limited, validated and presented like every other one. */
function engineOf(core: Core, yoga: GraphQLServer): Engine {
  return {
    fetch: async ({ headers, body, signal }, context) =>
      await yoga.fetch(SOMEWHERE, { method: 'POST', headers, body, signal }, context),
    present(error) {
      const { extensions, ...shown } = presentError(error, core.log, randomUUID()).toJSON()
      const { http: _, ...rest } = extensions ?? {}
      return { ...shown, extensions: rest }
    },
  }
}
