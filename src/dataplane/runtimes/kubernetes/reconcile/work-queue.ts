/**
 * The work queue of one deployment, as controllers have it: however often it is enqueued, its work runs once more, and
 * never twice at the same time.
 */
export class WorkQueue {
  readonly #work: () => Promise<void>
  readonly #stopped = new AbortController()
  #dirty = false
  #running: Promise<void> | null = null
  /** the earliest of what `requeueAfter` was asked for */
  #timer: { at: number; handle: NodeJS.Timeout } | null = null

  /** `work` must not throw. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** The work runs in a later tick, or once more if it is under way. */
  enqueue(): void {
    if (this.#dirty || this.signal.aborted) return
    this.#dirty = true
    setImmediate(() => this.#start())
  }

  /** In so many ms at the latest. */
  requeueAfter(ms: number): void {
    const at = performance.now() + ms
    if (this.signal.aborted || (this.#timer && this.#timer.at <= at)) return
    this.clearTimer()
    const handle = setTimeout(() => {
      this.#timer = null
      this.enqueue()
    }, ms)
    this.#timer = { at, handle }
  }

  /** Forgets what `requeueAfter` was asked for. */
  clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer.handle)
    this.#timer = null
  }

  /** No more work; resolves when what is under way is over. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.clearTimer()
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#drain().finally(() => {
      this.#running = null
      // enqueued between the last look and now
      if (this.#dirty && !this.signal.aborted) this.#start()
    })
  }

  async #drain(): Promise<void> {
    while (this.#dirty && !this.signal.aborted) {
      this.#dirty = false
      await this.#work()
    }
  }
}
