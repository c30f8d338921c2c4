/**
 * Timeouts and abort scopes. They avoid AbortSignal.any: in Node 20 a long-lived signal leaks memory for each derived
 * signal, and the garbage collector can take AbortSignal.timeout's signal below it, which then never aborts.
 */

/** Abort scope of one call or stream: ended by a timeout, the caller or a parent signal. */
export class AbortScope {
  /** whether the timeout fired */
  late = false
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #ended: () => void
  #timer: NodeJS.Timeout | undefined

  /** Aborts with `parent`. `end` calls `ended`. */
  constructor(parent: AbortSignal | undefined, ended: () => void = () => undefined) {
    this.#parent = parent
    this.#ended = ended
    if (parent?.aborted) this.#controller.abort(parent.reason)
    parent?.addEventListener('abort', this.#follow)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Aborts after `ms`, unless `end` or `unlimited` is called before. */
  limit(ms: number, reason: () => Error = timeIsUp): void {
    this.#timer = setTimeout(() => {
      // after a busy period the result may have arrived but not been read yet
      this.#grace = setImmediate(() => {
        this.late = true
        this.#controller.abort(reason())
      })
    }, ms)
  }

  unlimited(): void {
    clearTimeout(this.#timer)
    clearImmediate(this.#grace)
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** Returns the promise's result, or rejects when the scope aborts. For work that takes no signal. */
  async unlessAborted<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this
    promise.catch(() => undefined)
    let stop: () => void = () => undefined
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
    })
    return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', stop))
  }

  /** Removes the timer and the listener on the parent. */
  end(): void {
    this.unlimited()
    this.#parent?.removeEventListener('abort', this.#follow)
    this.#ended()
  }

  #grace: NodeJS.Immediate | undefined
  readonly #follow = (): void => this.#controller.abort(this.#parent?.reason)
}

const timeIsUp = () => new DOMException('The time is up', 'TimeoutError')

/** Runs `work` with a signal that aborts with `signal`, or with a TimeoutError after `ms`. */
export async function withTimeout<T>(
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(signal)
  scope.limit(ms)
  try {
    return await work(scope.signal)
  } finally {
    scope.end()
  }
}

/** Like `withTimeout`, but rejects with `reason` at the timeout even if `call` ignores its signal. */
export function withHardTimeout<T>(
  ms: number,
  signal: AbortSignal | undefined,
  reason: () => Error,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(signal)
  scope.limit(ms, reason)
  return new Promise<T>((resolve, reject) => {
    scope.signal.addEventListener('abort', () => scope.late && reject(scope.signal.reason))
    call(scope.signal).then(resolve, reject)
  }).finally(() => scope.end())
}

/** Waits for `work`. When the signal aborts, runs `undo` and throws the signal's reason; the work itself continues. */
export async function unlessAborted<T>(
  signal: AbortSignal,
  work: Promise<T>,
  undo: () => Promise<void> = async () => undefined,
): Promise<T> {
  const scope = new AbortScope(signal)
  try {
    return await scope.unlessAborted(work)
  } catch (error) {
    if (signal.aborted) await undo().catch(() => undefined)
    throw error
  } finally {
    scope.end()
  }
}

/** Returns the promise's result, or `undefined` after `ms` or when the signal aborts. The work itself continues. */
export async function resultWithin<T>(ms: number, promise: Promise<T>, signal?: AbortSignal): Promise<T | undefined> {
  const scope = new AbortScope(signal)
  scope.limit(ms)
  try {
    return await scope.unlessAborted(promise)
  } catch (error) {
    if (scope.signal.aborted && error === scope.signal.reason) return undefined
    throw error
  } finally {
    scope.end()
  }
}
