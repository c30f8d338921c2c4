/**
 * A fetch that tries again, with longer and longer pauses that are never quite the same. That is safe for reads, for uploads, and
 * for writes with an Idempotency-Key, which all writes of a Connection have.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { errorOf, PilothouseError, UnreachableError } from './errors.ts'

export interface RetryOptions {
  /** ms for which a call that fails is tried again, from its first failure on; 0: never */
  retryForMs: number
  /** told before each pause: why, and how long it is (ms). For progress; must not throw */
  onRetry?: (why: PilothouseError | UnreachableError, pauseMs: number) => void
}

/** ms; the first pause is up to the first, and each one up to twice as long as the one before. */
const PAUSE_MS = { first: 250, longest: 10_000 }
/** ms without an answer's first byte after which a try has failed; a call that waits has as much more as it asked for. */
const ANSWER_MS = 30_000
/** the same for an upload, which may be 200 MB */
const UPLOAD_MS = 600_000

/**
 * Pauses between tries, and says when it is enough. `next` answers false once `retryForMs` have passed since the first failure after
 * the last success, also if the pause would end later than that. Throws what `signal` was aborted with.
 */
export class Patience {
  readonly #options: RetryOptions
  #tries = 0
  #giveUpAt = 0
  constructor(options: RetryOptions) {
    this.#options = options
  }
  /** There was contact: what fails from now on is a new failure. */
  reset(): void {
    this.#tries = 0
  }
  async next(why: PilothouseError | UnreachableError, signal?: AbortSignal | null): Promise<boolean> {
    if (this.#tries === 0) this.#giveUpAt = performance.now() + this.#options.retryForMs
    const longest = Math.min(PAUSE_MS.longest, PAUSE_MS.first * 2 ** this.#tries)
    const wanted = why instanceof PilothouseError ? (why.retryAfterMs ?? 0) : 0
    const pauseMs = Math.round(wanted + longest * (0.5 + Math.random() / 2))
    if (performance.now() + pauseMs > this.#giveUpAt) return false
    this.#tries += 1
    this.#options.onRetry?.(why, pauseMs)
    await pause(pauseMs, undefined, { signal: signal ?? undefined }).catch((error) => {
      throw signal?.reason ?? error
    })
    return true
  }
}

/**
 * Like `fetch`, but for: it tries again; it throws a PilothouseError for every answer that is not of success (304 is), an
 * UnreachableError if there is none; it follows no redirect, which would carry the key to another server. Bodies come whole,
 * but for event streams. `make` makes the request of one try.
 */
export async function fetchPatiently(options: RetryOptions, make: () => Request): Promise<Response> {
  const patience = new Patience(options)
  for (;;) {
    const request = make()
    const outcome = await attempt(request)
    if (outcome instanceof Response) return outcome
    request.signal.throwIfAborted()
    if (!mayMend(outcome) || !(await patience.next(outcome, request.signal))) throw outcome
  }
}

async function attempt(request: Request): Promise<Response | PilothouseError | UnreachableError> {
  const limit = new AbortController()
  const waits = Number(new URL(request.url).searchParams.get('wait') ?? 0) * 1000
  const ms = request.method === 'PUT' ? UPLOAD_MS : ANSWER_MS + waits
  const timer = setTimeout(() => limit.abort(new DOMException('', 'TimeoutError')), ms)
  try {
    const response = await fetch(request, {
      redirect: 'manual',
      signal: AbortSignal.any([request.signal, limit.signal]),
    })
    if (!response.ok && response.status !== 304) return await errorOf(response)
    if (isStream(response)) return response
    const { status, statusText, headers } = response
    const body = status === 204 || status === 304 ? null : await response.text()
    return new Response(body, { status, statusText, headers })
  } catch (error) {
    return new UnreachableError(new URL(request.url).origin, error)
  } finally {
    clearTimeout(timer)
  }
}

const isStream = ({ headers }: Response) => headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** Whether the same call may succeed later. That it was done already does no harm: writes have a key. */
function mayMend(error: PilothouseError | UnreachableError): boolean {
  if (error instanceof UnreachableError) return true
  // with Retry-After, a 409 says that a call with this key is still under way
  if (error.status === 409) return error.retryAfterMs !== null
  return [408, 429, 502, 503, 504].includes(error.status)
}
