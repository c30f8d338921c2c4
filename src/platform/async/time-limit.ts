/**
 * Limits of time, and what else ends work. By hand and not with AbortSignal.any: in Node 20 a signal that lives long
 * keeps a little of each that was ever made from it, and the garbage collector can take AbortSignal.timeout's signal
 * below it, which then never aborts.
 */

/** What ends one call or stream: its time, its caller, or the end of everything. */
export class AbortScope {
  /** the time was up */
  late = false
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #ended: () => void
  #timer: NodeJS.Timeout | undefined

  /** Aborts with `parent`. `ended` is called by `end`. */
  constructor(parent: AbortSignal | undefined, ended: () => void = () => undefined) {
    this.#parent = parent
    this.#ended = ended
    if (parent?.aborted) this.#controller.abort(parent.reason)
    parent?.addEventListener('abort', this.#follow)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Aborts in so many ms, unless `end` or `unlimited` is called before. */
  limit(ms: number, reason: () => Error = timeIsUp): void {
    this.#timer = setTimeout(() => {
      // in a process that was busy for long the answer may be there, and was only not read yet
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

  /** What the promise gives, for what does not take a signal. */
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

  /** It is over: nothing is kept of it. */
  end(): void {
    this.unlimited()
    this.#parent?.removeEventListener('abort', this.#follow)
    this.#ended()
  }

  #grace: NodeJS.Immediate | undefined
  readonly #follow = (): void => this.#controller.abort(this.#parent?.reason)
}

const timeIsUp = () => new DOMException('The time is up', 'TimeoutError')

/** Does `work` with a signal that aborts with `signal`, or with a TimeoutError after `ms`. */
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

/** Like `limited`, but rejects with `reason` when the time is up whether `call` heeds its signal or not. */
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

/** What the promise gives, or `undefined` when it takes longer than `ms` or the signal aborts; then it goes on by itself. */
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
