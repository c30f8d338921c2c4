/** Adds the rate-limit headers to the OpenAPI document (docs/api-rules.md#limits). */

interface ResponseObject {
  headers?: object
}
interface Document {
  paths?: object
  components?: object
}

const integer = { type: 'integer', minimum: 0 }

const HEADERS = {
  RateLimit: {
    description:
      'The remaining requests (`r`) and the seconds until the limit is fully available again (`t`), as in draft-ietf-httpapi-ratelimit-headers: `"key";r=1999;t=1`.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description:
      'The limit: the number of requests (`q`) and the seconds until all of them are available again (`w`): `"key";q=2000;w=4`. The header is absent if no limit is set.',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds to wait before you repeat the call.', schema: integer },
}

const reference = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` })
const RATE_LIMIT_HEADERS = { RateLimit: reference('RateLimit'), 'RateLimit-Policy': reference('RateLimitPolicy') }
const RETRY_HEADERS = { 'Retry-After': reference('RetryAfter') }

/** Operations with a limit get them on success and 429. `Retry-After` is added to 429 and 503. */
export function describeLimits<D extends Document>(document: D): D {
  for (const item of Object.values(document.paths ?? {})) {
    for (const { responses } of Object.values(item as Record<string, { responses?: Record<string, ResponseObject> }>)) {
      if (!responses) continue
      for (const [status, answer] of Object.entries(responses)) {
        const hasRateLimit = status === '429' || ('429' in responses && (status.startsWith('2') || status === '304'))
        const isRetryable = status === '429' || status === '503'
        if (hasRateLimit || isRetryable)
          answer.headers = {
            ...(hasRateLimit ? RATE_LIMIT_HEADERS : {}),
            ...(isRetryable ? RETRY_HEADERS : {}),
            ...answer.headers,
          }
      }
    }
  }
  return { ...document, components: { ...document.components, headers: HEADERS } }
}
