/** The errors that the client throws. No message contains a key, a header, a body or an upload URL. */
import type { components, ErrorCode } from './openapi.ts'

/** A code of the catalogue, or of a newer server. `UNEXPECTED_ANSWER`: the response is not from Pilothouse (a proxy, a redirect). */
export type Code = ErrorCode | 'UNEXPECTED_ANSWER' | (string & {})

/** One invalid value of a request. `loc` begins with `path`, `query`, `body` or `header`. */
export type Issue = components['schemas']['ValidationError']['detail'][number]

interface ErrorFields {
  status: number
  code: Code
  detail: string
  requestId: string | null
  issues?: readonly Issue[]
  retryAfterMs?: number | null
}

/** An error response. Programs use `code`; `detail` (also the message) is for people. */
export class PilothouseError extends Error {
  /** HTTP status; 0 for an error event of a stream */
  readonly status: number
  readonly code: Code
  readonly detail: string
  /** also in the server's log; null: the response had none */
  readonly requestId: string | null
  /** all violations of a 422 */
  readonly issues: readonly Issue[]
  /** from `Retry-After`; null: absent */
  readonly retryAfterMs: number | null
  constructor({ status, code, detail, requestId, issues = [], retryAfterMs = null }: ErrorFields) {
    super(detail)
    this.name = 'PilothouseError'
    this.status = status
    this.code = code
    this.detail = detail
    this.requestId = requestId
    this.issues = issues
    this.retryAfterMs = retryAfterMs
  }
}

/** The server gave no response until the retries ended. `message` names the server and the cause. */
export class UnreachableError extends Error {
  constructor(origin: string, cause: unknown) {
    super(`No answer from ${origin}: ${causeOf(cause)}.`)
    this.name = 'UnreachableError'
  }
}

/** The wait exceeded its timeout; the work continues. `last` is the last seen state, or null. */
export class WaitTimeoutError<T> extends Error {
  readonly last: T | null
  constructor(message: string, last: T | null) {
    super(message)
    this.name = 'WaitTimeoutError'
    this.last = last
  }
}

/** Returns the system's error code (`ECONNREFUSED`) if there is one, otherwise a short text. */
function causeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
    if (at.name === 'TimeoutError') return 'the request timed out'
  }
  return 'the connection failed'
}

export async function parseError(response: Response): Promise<PilothouseError> {
  const { status, headers } = response
  const retryAfterMs = parseRetryAfter(headers)
  const body = parseErrorBody(await response.text())
  const requestId = headers.get('x-request-id')
  if (!body)
    return new PilothouseError({
      status,
      code: 'UNEXPECTED_ANSWER',
      detail: describeUnexpectedAnswer(response),
      requestId,
      retryAfterMs,
    })
  const { code, detail, request_id } = body
  const fields = { status, code, requestId: request_id ?? requestId, retryAfterMs }
  if (typeof detail === 'string') return new PilothouseError({ ...fields, detail })
  const text = detail.map(({ loc, msg }) => `${loc.slice(1).join('.') || loc.join('.')}: ${msg}`).join('\n')
  return new PilothouseError({ ...fields, detail: text, issues: detail })
}

type ErrorBody = components['schemas']['Error'] | components['schemas']['ValidationError']

function parseErrorBody(text: string): ErrorBody | null {
  try {
    const body = JSON.parse(text)
    const known = typeof body?.code === 'string' && (typeof body.detail === 'string' || Array.isArray(body.detail))
    return known ? body : null
  } catch {
    return null
  }
}

function describeUnexpectedAnswer({ status, headers, url }: Response): string {
  const location = headers.get('location')
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url).origin : null
  if (status >= 300 && status < 400 && target)
    return `The server redirects to ${target}: use the URL of the Pilothouse server itself.`
  return `The response (status ${status}) is not from a Pilothouse server. Check the URL.`
}

/** Returns ms. The header has seconds or a date. */
function parseRetryAfter(headers: Headers): number | null {
  const text = headers.get('retry-after')
  if (text === null) return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
