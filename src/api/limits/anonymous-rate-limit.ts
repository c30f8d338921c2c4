/**
 * Counts by address what is called without a key, where that costs something: pages, metrics, and calls whose credential
 * is another (a signature, a state). A call of the latter that was good costs nothing.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from './admission.ts'
import { createRequestScope } from './request-scope.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * the route takes no key; `unlessSuccessful`: it costs its address nothing when it is answered with 2xx; `forBrowsers`: it
     * takes one, but shows a page to browsers without
     */
    keyless?: 'always' | 'unlessSuccessful' | 'forBrowsers'
  }
}

/** To be called before the routes are registered. */
export function limitAnonymousRequests(fastify: FastifyInstance, admission: Admission): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const { keyless } = request.routeOptions.config
    if (!keyless || (keyless === 'forBrowsers' && !asksForPage(request))) return done()
    const requestScope = createRequestScope(request, reply)
    admission.chargeAddress(requestScope)
    if (keyless === 'unlessSuccessful')
      requestScope.onEnd(() => {
        if (reply.raw.statusCode < 300) admission.refundAddress(requestScope)
      })
    done()
  })
}

function asksForPage({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/html')
}
