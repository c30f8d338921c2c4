/**
 * Charges the address for requests to routes without a key that cost something: pages, metrics, and calls with another
 * credential (a signature or an OAuth state).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Admission } from './admission.ts'
import { HttpRequestScope } from './request-scope.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The route needs no key. `unlessSuccessful`: a 2xx answer costs the address nothing. `forBrowsers`: only a browser's
     * request for the page is charged; other requests need a key.
     */
    keyless?: 'always' | 'unlessSuccessful' | 'forBrowsers'
  }
}

/** Call it before the routes are registered. */
export function limitAnonymousRequests(fastify: FastifyInstance, admission: Admission): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const { keyless } = request.routeOptions.config
    if (!keyless || (keyless === 'forBrowsers' && !asksForPage(request))) return done()
    const requestScope = new HttpRequestScope(request, reply)
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
