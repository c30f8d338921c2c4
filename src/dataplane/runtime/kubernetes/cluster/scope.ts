/**
 * What ends one call or stream: its time, its caller, or the end of everything. By hand and not with
 * AbortSignal.any: in Node 20 a signal that lives long keeps a little of each that was ever made from it.
 */

export class Scope {
  /** the time was up */
  late = false
  readonly #controller = new AbortController()
  readonly #parent: AbortSignal | undefined
  readonly #ended: () => void
  #timer: NodeJS.Timeout | undefined

  /** Aborts with `parent`. `ended` is called by `end`. */
  constructor(parent: AbortSignal | undefined, ended: () => void) {
    this.#parent = parent
    this.#ended = ended
    if (parent?.aborted) this.#controller.abort(parent.reason)
    parent?.addEventListener('abort', this.#follow)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Aborts in so many ms, unless `end` or `unlimited` is called before. */
  limit(ms: number): void {
    this.#timer = setTimeout(() => {
      this.late = true
      this.#controller.abort(new DOMException('The time is up', 'TimeoutError'))
    }, ms)
  }

  unlimited(): void {
    clearTimeout(this.#timer)
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  /** What the promise gives, for what does not take a signal. */
  async unlessAborted<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this
    signal.throwIfAborted()
    let stop: () => void = () => undefined
    const aborted = new Promise<never>((_, reject) => {
      stop = () => reject(signal.reason)
      signal.addEventListener('abort', stop)
    })
    try {
      return await Promise.race([promise, aborted])
    } finally {
      signal.removeEventListener('abort', stop)
      promise.catch(() => undefined)
    }
  }

  /** It is over: nothing is kept of it. */
  end(): void {
    this.unlimited()
    this.#parent?.removeEventListener('abort', this.#follow)
    this.#ended()
  }

  readonly #follow = (): void => this.#controller.abort(this.#parent?.reason)
}
