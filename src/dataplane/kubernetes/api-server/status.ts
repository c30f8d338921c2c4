/** Turns a failed call into ApiRefused or Unreachable. */
import { ConnectionError, type HttpResponse } from '../../../platform/http/client.ts'
import { ApiRefused, NO_SUCH_VERSION, Unreachable } from './errors.ts'
import { isSchemaMismatch, isVersionOfAbsentObject } from './messages.ts'

/** Longer than any shown message: masking runs first, and would not find a secret that is cut here. */
const MAX_MESSAGE_CHARACTERS = 20_000
/** ms; longest Retry-After that is respected */
const MAX_RETRY_AFTER_MS = 60_000
/** Error for a response that is not 2xx. `secret`: the object has secret values, so the server's words are left out. */
export function refusal(
  status: number,
  headers: HttpResponse['headers'],
  body: string,
  action: string,
  secret: boolean,
): ApiRefused | Unreachable {
  const reply = statusOf(body)
  const misfit = status === 500 && isSchemaMismatch(reply.message)
  const invalid = misfit || status === 400 || status === 422
  const words = secret && invalid ? 'it is not valid' : reply.message.slice(0, MAX_MESSAGE_CHARACTERS)
  const message = `The API server refused to ${action}: ${words || `HTTP ${status}`}`
  if (misfit) return new ApiRefused(status, 'Invalid', message)
  if (status === 500 && isVersionOfAbsentObject(reply.message)) return new ApiRefused(409, NO_SUCH_VERSION, message)
  if (status >= 500 || status === 429 || status === 408) {
    return new Unreachable(`The API server could not ${action}: ${words || `HTTP ${status}`}`, retryAfter(headers))
  }
  return new ApiRefused(status, reply.reason || (status === 401 ? 'Unauthorized' : 'Unknown'), message)
}

export function unreachable(error: unknown, action: string): Unreachable {
  const { message, code } = error as NodeJS.ErrnoException
  // the server closed an idle connection, which is no outage
  const retryAfterMs = error instanceof ConnectionError && error.stale ? 0 : null
  return new Unreachable(
    `The API server is not reachable (to ${action}): ${message || code || 'unknown error'}`,
    retryAfterMs,
    {
      cause: error,
    },
  )
}

/** Reads a Status from a body; a proxy may return anything. */
function statusOf(body: string): { reason: string; message: string } {
  try {
    const { kind, reason, message } = JSON.parse(body)
    if (kind === 'Status') return { reason: String(reason ?? ''), message: String(message ?? '') }
  } catch {
    // not JSON
  }
  return { reason: '', message: '' }
}

function retryAfter(headers: HttpResponse['headers']): number | null {
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  return seconds >= 0 ? Math.min(MAX_RETRY_AFTER_MS, seconds * 1000) : null
}
