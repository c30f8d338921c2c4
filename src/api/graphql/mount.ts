/** The route of GraphQL: requests go to the fast path, then to Yoga. WebSocket upgrades go to websocket/. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Core } from '../../domain/transaction/context.ts'
import { type Authenticate, CACHE_HEADERS } from '../auth/authenticate.ts'
import { HttpRequestScope } from '../limits/request-scope.ts'
import type { Handover } from './fast-path/document-cache.ts'
import type { FastPath } from './fast-path/fast-path.ts'
import { refuseDataPlane } from './use-authentication.ts'
import { createWebSockets } from './websocket/server.ts'
import { GRAPHQL_PATH, type GraphQLServer, MAX_BODY_BYTES } from './yoga.ts'

export interface MountOptions {
  core: Core
  authenticate: Authenticate
  yoga: GraphQLServer
  fastPath: FastPath
  /** aborts when the server stops */
  stopping: AbortSignal
}

/** Uses Node's request and response directly: a bridge through fetch would double the CPU time. */
export function mountGraphql(fastify: FastifyInstance, options: MountOptions): void {
  const { core, yoga, fastPath, stopping } = options
  const webSockets = createWebSockets({
    core,
    authenticate: async (...call) => refuseDataPlane(await options.authenticate(...call)),
    yoga,
    maxMessageBytes: MAX_BODY_BYTES,
    stopping,
  })
  fastify.register(async (scope) => {
    // Yoga reads the body itself
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.route({
      url: GRAPHQL_PATH,
      // Yoga answers 405 for the other methods
      method: ['GET', 'POST', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'],
      config: { keyless: 'forBrowsers', allowedMethods: ['GET', 'HEAD', 'POST', 'OPTIONS'] },
      async handler(request, reply) {
        reply.hijack()
        if (request.raw.tunnel) {
          webSockets.take(request, reply)
          return
        }
        for (const [name, value] of Object.entries(CACHE_HEADERS)) reply.raw.setHeader(name, value)
        const onCaller = (subject: string) => {
          request.subject = subject
        }
        const requestScope = new HttpRequestScope(request, reply)
        const handover: Handover = {}
        if (await fastPath.tryAnswer(request, reply, requestScope, handover)) return
        const removeYogaListeners = trackYogaListeners(request.raw, reply.raw)
        await yoga.handle(request.raw, reply.raw, {
          ...handover,
          requestId: request.id,
          requestScope,
          onCaller,
          removeYogaListeners,
        })
      },
    })
    // the relay ends open streams; this releases Yoga's own resources
    scope.addHook('onClose', async () => yoga.dispose())
  })
}

const RESPONSE_EVENTS = ['close', 'error', 'finish'] as const

/**
 * Call it before Yoga gets the request. The returned function removes the listeners that Yoga added to the response, and all
 * listeners of the request, which is read by then. So a stream does not retain what Yoga knows of the request.
 */
function trackYogaListeners(request: IncomingMessage, response: ServerResponse): () => void {
  const before = RESPONSE_EVENTS.map((event) => response.rawListeners(event))
  return () => {
    request.removeAllListeners()
    for (const [i, event] of RESPONSE_EVENTS.entries())
      for (const listener of response.rawListeners(event))
        if (!before[i]!.includes(listener)) response.removeListener(event, listener as () => void)
  }
}
