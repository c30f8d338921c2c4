/**
 * Turns what went wrong with a call into ApiRefused or Unreachable.
 */
import { ConnectionError, type HttpResponse } from '../../../../platform/http/client.ts'
import { ApiRefused, NO_SUCH_VERSION, Unreachable } from './errors.ts'
import { isSchemaMismatch, isVersionOfAbsentObject } from './messages.ts'

/**
 * Characters: an API server may put a whole spec into its words. Far more than is shown anywhere: there it is cut after
 * secrets were hidden in it, and one that is cut here already would not be found.
 */
const MAX_MESSAGE_CHARACTERS = 20_000
/** nobody waits longer than this because a server said so */
const MAX_RETRY_AFTER_MS = 60_000
/**
 * The error for an answer that is not 2xx. `what` says what was tried, like `list pods in namespace "a"`.
 * `secret`: the object has values that no message may show, so that words about its content are left out.
 */
export function refusal(
  status: number,
  headers: HttpResponse['headers'],
  body: string,
  what: string,
  secret: boolean,
): ApiRefused | Unreachable {
  const said = statusOf(body)
  const misfit = status === 500 && isSchemaMismatch(said.message)
  const invalid = misfit || status === 400 || status === 422
  const words = secret && invalid ? 'it is not valid' : said.message.slice(0, MAX_MESSAGE_CHARACTERS)
  const message = `The API server refused to ${what}: ${words || `HTTP ${status}`}`
  if (misfit) return new ApiRefused(status, 'Invalid', message)
  if (status === 500 && isVersionOfAbsentObject(said.message)) return new ApiRefused(409, NO_SUCH_VERSION, message)
  if (status >= 500 || status === 429 || status === 408) {
    return new Unreachable(`The API server could not ${what}: ${words || `HTTP ${status}`}`, retryAfter(headers))
  }
  return new ApiRefused(status, said.reason || (status === 401 ? 'Unauthorized' : 'Unknown'), message)
}

/** For a connection that could not be made, or broke. */
export function unreachable(error: unknown, what: string): Unreachable {
  const { message, code } = error as NodeJS.ErrnoException
  // a kept connection that the server had closed meanwhile: nothing is wrong with the server
  const again = error instanceof ConnectionError && error.stale ? 0 : null
  return new Unreachable(`The API server is not reachable (to ${what}): ${message || code || 'unknown error'}`, again, {
    cause: error,
  })
}

/** Members of a Status, as far as the text is one. A proxy in between may answer with anything. */
function statusOf(body: string): { reason: string; message: string } {
  try {
    const { kind, reason, message } = JSON.parse(body)
    if (kind === 'Status') return { reason: String(reason ?? ''), message: String(message ?? '') }
  } catch {
    // no JSON
  }
  return { reason: '', message: '' }
}

/** Milliseconds. The API server says it in seconds. */
function retryAfter(headers: HttpResponse['headers']): number | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return seconds >= 0 ? Math.min(MAX_RETRY_AFTER_MS, seconds * 1000) : null
}
