/**
 * CORS (docs/api-rules.md#pages-of-other-origins): pages of CORS_ORIGINS may call with a key or a token, never with a session. Other
 * origins get no CORS headers, so browsers block them.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** `X-Session` is missing on purpose: sessions are only for pages of this server. */
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
const PREFLIGHT_MAX_AGE_S = '600'

/** Adds the CORS headers. True: the request is a preflight, and the answer is complete. */
export type CrossOrigin = (request: FastifyRequest, reply: FastifyReply) => boolean

/** `origins`: allowed origins, in the form of the `Origin` header. */
export function createCrossOrigin(origins: readonly string[]): CrossOrigin {
  if (origins.length === 0) return () => false
  const allowed = new Set(origins)
  return ({ method, headers }, { raw }) => {
    const { origin } = headers
    if (origin === undefined || !allowed.has(origin)) return false
    // on the raw response, because GraphQL writes past Fastify
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
