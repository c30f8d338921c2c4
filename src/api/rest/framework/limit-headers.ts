/** Describes in the document the headers that say what is left of a key's limits (docs/api-rules.md#limits). */

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
      'What is left of the limit, and in how many seconds all of it is back, as in draft-ietf-httpapi-ratelimit-headers: `"key";r=1999;t=1`.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description:
      'The limit itself: so many requests (`q`), which all come back within so many seconds (`w`): `"key";q=2000;w=4`. There is none where no limit is set.',
    schema: { type: 'string' },
  },
  RetryAfter: { description: 'Seconds after which the same call is worth another try.', schema: integer },
}

const reference = (name: keyof typeof HEADERS) => ({ $ref: `#/components/headers/${name}` })
const RATE_LIMIT_HEADERS = { RateLimit: reference('RateLimit'), 'RateLimit-Policy': reference('RateLimitPolicy') }
const RETRY_HEADERS = { 'Retry-After': reference('RetryAfter') }

/** Adds them to the answers of every operation that has a limit: to those of success and 429, and `Retry-After` to 503. */
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
