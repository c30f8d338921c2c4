/** Errors of API server calls, by what the caller must do. Messages are for users, without content of objects. */
import { ConnectionError, type HttpResponse } from '../../../platform/http/client.ts'
import { isSchemaMismatch, isVersionOfAbsentObject } from './messages.ts'

/** A newer holder has written the deployment, so nothing was written. The caller must give up. */
export class StaleError extends Error {
  override name = 'StaleError'
}

/** The lease has expired by this process's clock, so nothing was written. The caller must give up. */
export class LeaseOverError extends Error {
  override name = 'LeaseOverError'
}

/** Nothing was written: the object is terminating, or a prerequisite is missing. Retry after a change. */
export class NotNowError extends Error {
  override name = 'NotNowError'
}

/** Refused (4xx), and a retry does not help: permissions, quota, an invalid manifest, a missing namespace. */
export class ApiRefused extends Error {
  override name = 'ApiRefused'
  readonly status: number
  /** reason of the API server's Status: Forbidden, Invalid, NotFound, Conflict … */
  readonly reason: string

  /** `message`: for users; the API server's message if there is one. */
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** Conflict reason: the object does not exist, and an apply with a resource version does not create it. */
export const NO_SUCH_VERSION = 'NoSuchVersion'

/** The API server was unreachable, timed out, or returned 5xx or 429. Retry. */
export class Unreachable extends Error {
  override name = 'Unreachable'
  /** the server's Retry-After in ms; null: none */
  readonly retryAfterMs: number | null

  constructor(message: string, retryAfterMs: number | null = null, options?: ErrorOptions) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** Others write the object so often that each write of this process conflicts. */
export class Contended extends Unreachable {
  override name = 'Contended'
}

/** This process closed the cluster. */
export class ClusterClosedError extends Error {
  override name = 'ClusterClosedError'
}

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
