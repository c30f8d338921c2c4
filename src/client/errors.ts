/**
 * What can go wrong for a client. An answer that is an error is a PilothouseError, typed by the server's catalogue; a server
 * that does not answer is an UnreachableError. No message has a key, a header, a body or an upload address in it.
 */
import type { components, ErrorCode } from './openapi.ts'

/** A code of the catalogue; one that a newer server knows; `UNEXPECTED_ANSWER`: what answered is no Pilothouse (a proxy, a redirect). */
export type Code = ErrorCode | 'UNEXPECTED_ANSWER' | (string & {})

/** One mistake in what was sent. `loc` begins with `path`, `query`, `body` or `header`. */
export type Issue = components['schemas']['ValidationError']['detail'][number]

interface Answered {
  status: number
  code: Code
  detail: string
  requestId: string | null
  issues?: readonly Issue[]
  retryAfterMs?: number | null
}

/** The server refused or failed. Decide by `code`; `detail`, which is the message too, is for people. */
export class PilothouseError extends Error {
  /** of HTTP; of an error within a stream that its code has */
  readonly status: number
  readonly code: Code
  readonly detail: string
  /** what to search the server's log for; null: the answer had none */
  readonly requestId: string | null
  /** of a 422: everything that is wrong, at once */
  readonly issues: readonly Issue[]
  /** ms after which the same call is worth another try; null: the server did not say */
  readonly retryAfterMs: number | null
  constructor({ status, code, detail, requestId, issues = [], retryAfterMs = null }: Answered) {
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

/** Nobody answered, for as long as the client was willing to try. `message` says where and why. */
export class UnreachableError extends Error {
  constructor(origin: string, cause: unknown) {
    super(`No answer from ${origin}: ${whyOf(cause)}.`)
    this.name = 'UnreachableError'
  }
}

/** The time given was not enough: the work goes on without whoever waited. `last`: what was seen last, if anything was. */
export class WaitTimeoutError<T> extends Error {
  readonly last: T | null
  constructor(message: string, last: T | null) {
    super(message)
    this.name = 'WaitTimeoutError'
    this.last = last
  }
}

/** The shortest that says why a connection failed: the code of the system (`ECONNREFUSED`), else the kind of error. */
function whyOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown }
    if (typeof code === 'string') return code
    if (at.name === 'TimeoutError') return 'it did not answer in time'
  }
  return 'the connection failed'
}

/** The error that an answer is. Reads its body. */
export async function errorOf(response: Response): Promise<PilothouseError> {
  const { status, headers } = response
  const retryAfterMs = retryAfterOf(headers)
  const body = bodyOf(await response.text())
  const requestId = headers.get('x-request-id')
  if (!body)
    return new PilothouseError({
      status,
      code: 'UNEXPECTED_ANSWER',
      detail: strangeAnswer(response),
      requestId,
      retryAfterMs,
    })
  const { code, detail, request_id } = body
  const said = { status, code, requestId: request_id ?? requestId, retryAfterMs }
  if (typeof detail === 'string') return new PilothouseError({ ...said, detail })
  const text = detail.map(({ loc, msg }) => `${loc.slice(1).join('.') || loc.join('.')}: ${msg}`).join('\n')
  return new PilothouseError({ ...said, detail: text, issues: detail })
}

type Body = components['schemas']['Error'] | components['schemas']['ValidationError']

function bodyOf(text: string): Body | null {
  try {
    const body = JSON.parse(text)
    const known = typeof body?.code === 'string' && (typeof body.detail === 'string' || Array.isArray(body.detail))
    return known ? body : null
  } catch {
    return null
  }
}

function strangeAnswer({ status, headers, url }: Response): string {
  const location = headers.get('location')
  const target = location !== null && URL.canParse(location, url) ? new URL(location, url).origin : null
  if (status >= 300 && status < 400 && target)
    return `The answer is a redirect to ${target}: use the server's own address.`
  return `The answer (${status}) is not one of a Pilothouse server.`
}

/** ms, from `Retry-After` in seconds or as a date; null without one. */
function retryAfterOf(headers: Headers): number | null {
  const text = headers.get('retry-after')
  if (text === null) return null
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : null
}
