/** A `fetch` with retries, for all calls of the client (README.md). Every write has an Idempotency-Key, so a retry is safe. */
import { PilothouseError, parseError, UnreachableError } from './errors.ts'

export interface RetryOptions {
  /** Retries end this many ms after the first failure. 0: no retries. */
  retryForMs: number
  /** Called before each pause, to show progress. Must not throw. */
  onRetry?: (error: PilothouseError | UnreachableError, pauseMs: number) => void
}

/** The longest pause doubles with each try. */
const BACKOFF_MS = { first: 250, max: 10_000 }
/** From the request to the end of the response body, or to the headers of a stream. A long poll adds its `wait`. */
const RESPONSE_TIMEOUT_MS = 30_000
/** An upload may have 200 MB. */
const UPLOAD_TIMEOUT_MS = 600_000

/** Exponential backoff with jitter, limited by `retryForMs` since the first failure after the last success. */
export class Backoff {
  readonly #options: RetryOptions
  #tries = 0
  #giveUpAt = 0
  constructor(options: RetryOptions) {
    this.#options = options
  }
  /** Records a success: the next failure starts a new period of `retryForMs`. */
  reset(): void {
    this.#tries = 0
  }
  /** Pauses, then returns true. Returns false immediately if the pause would exceed `retryForMs`. Throws the reason of `signal`. */
  async wait(error: PilothouseError | UnreachableError, signal?: AbortSignal | null): Promise<boolean> {
    if (this.#tries === 0) this.#giveUpAt = performance.now() + this.#options.retryForMs
    const longest = Math.min(BACKOFF_MS.max, BACKOFF_MS.first * 2 ** this.#tries)
    const retryAfterMs = error instanceof PilothouseError ? (error.retryAfterMs ?? 0) : 0
    const pauseMs = Math.round(retryAfterMs + longest * (0.5 + Math.random() / 2))
    if (performance.now() + pauseMs > this.#giveUpAt) return false
    this.#tries += 1
    this.#options.onRetry?.(error, pauseMs)
    await pause(pauseMs, signal)
    return true
  }
}

/**
 * `createRequest` creates the request of one try. Throws PilothouseError for every status except 2xx and 304, and UnreachableError
 * without a response. Reads the whole body, except of event streams.
 */
export async function fetchWithRetries(options: RetryOptions, createRequest: () => Request): Promise<Response> {
  const backoff = new Backoff(options)
  for (;;) {
    const request = createRequest()
    const outcome = await attempt(request)
    if (outcome instanceof Response) return outcome
    request.signal.throwIfAborted()
    if (!isRetryable(outcome) || !(await backoff.wait(outcome, request.signal))) throw outcome
  }
}

async function attempt(request: Request): Promise<Response | PilothouseError | UnreachableError> {
  const timeout = new AbortController()
  const waitMs = Number(new URL(request.url).searchParams.get('wait') ?? 0) * 1000
  const timeoutMs = request.method === 'PUT' ? UPLOAD_TIMEOUT_MS : RESPONSE_TIMEOUT_MS + waitMs
  const timer = setTimeout(() => timeout.abort(new DOMException('', 'TimeoutError')), timeoutMs)
  try {
    const response = await fetch(request, {
      // a redirect would carry the key to another server
      redirect: 'manual',
      signal: AbortSignal.any([request.signal, timeout.signal]),
    })
    if (!response.ok && response.status !== 304) return await parseError(response)
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

function isRetryable(error: PilothouseError | UnreachableError): boolean {
  if (error instanceof UnreachableError) return true
  // a 409 with Retry-After: an earlier try with the same Idempotency-Key still runs
  if (error.status === 409) return error.retryAfterMs !== null
  return [408, 429, 502, 503, 504].includes(error.status)
}

/** Resolves after `ms`, or rejects with the reason of `signal`. Browsers lack Node's `timers/promises`. */
export function pause(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })
}
