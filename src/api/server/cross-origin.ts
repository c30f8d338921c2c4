/**
 * Pages of other origins (docs/api-rules.md#pages-of-other-origins): those that CORS_ORIGINS names may call with a key or a token. Never with
 * credentials of the browser's own, which here are sessions: those are for our own pages alone. Of all others nothing is said, which browsers
 * take for a no.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** That a page may send. Not `X-Session`. */
const ALLOWED_HEADERS = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'X-Api-Key',
  'X-Request-Id',
  'X-Tenant-Id',
].join(', ')
/** That a page may read of an answer. */
const EXPOSED_HEADERS = [
  'ETag',
  'Idempotency-Replayed',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Revision-Id',
].join(', ')
/** s for which a browser need not ask again */
const PREFLIGHT_MAX_AGE_S = '600'

/** Says what a page of the request's origin may do; true: that was all that the browser has asked, and is the answer. */
export type CrossOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean

/** `origins`: those that may, as browsers write them. */
export function createCrossOrigin(origins: readonly string[]): CrossOrigin {
  if (origins.length === 0) return () => false
  const allowed = new Set(origins)
  return ({ method, headers }, { raw }) => {
    const { origin } = headers
    if (origin === undefined || !allowed.has(origin)) return false
    // not by Fastify: also for answers that are written past it (GraphQL)
    raw.setHeader('access-control-allow-origin', origin)
    raw.setHeader('vary', 'Origin')
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) {
      raw.setHeader('access-control-expose-headers', EXPOSED_HEADERS)
      return false
    }
    raw.setHeader('access-control-allow-methods', ALLOWED_METHODS)
    raw.setHeader('access-control-allow-headers', ALLOWED_HEADERS)
    raw.setHeader('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    return true
  }
}
