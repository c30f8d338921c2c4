/** Work queue like controller-runtime's: many `enqueue` calls cause one run; runs never overlap. */
export class WorkQueue {
  readonly #work: () => Promise<void>
  readonly #stopped = new AbortController()
  #dirty = false
  #running: Promise<void> | null = null
  /** the earliest pending `requeueAfter` */
  #timer: { at: number; handle: NodeJS.Timeout } | null = null

  /** `work` must not throw. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** Runs the work in a later tick, or once more if it is running. */
  enqueue(): void {
    if (this.#dirty || this.signal.aborted) return
    this.#dirty = true
    setImmediate(() => this.#start())
  }

  requeueAfter(ms: number): void {
    const at = performance.now() + ms
    if (this.signal.aborted || (this.#timer && this.#timer.at <= at)) return
    this.#clearTimer()
    const handle = setTimeout(() => {
      this.#timer = null
      this.enqueue()
    }, ms)
    this.#timer = { at, handle }
  }

  #clearTimer(): void {
    if (this.#timer) clearTimeout(this.#timer.handle)
    this.#timer = null
  }

  /** Stops the queue. Resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#clearTimer()
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#drain().finally(() => {
      this.#running = null
      // it may be enqueued between the last check and now
      if (this.#dirty && !this.signal.aborted) this.#start()
    })
  }

  async #drain(): Promise<void> {
    while (this.#dirty && !this.signal.aborted) {
      this.#dirty = false
      this.#clearTimer()
      await this.#work()
    }
  }
}
