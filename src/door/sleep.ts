/** A sleeping agent at the door: its requests wait until it was started. */
export class Sleep {
  readonly #waitMs: number
  readonly #onRequest: () => void
  readonly #waiting = new Set<() => void>()

  /** `waitMs`: longest wait of a request. `onRequest`: called when a request begins to wait. */
  constructor(waitMs: number, onRequest: () => void) {
    this.#waitMs = waitMs
    this.#onRequest = onRequest
  }

  get hasRequests(): boolean {
    return this.#waiting.size > 0
  }

  /** Resolves when the agent serves, or when the time is over. */
  serves(): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer)
        this.#waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(go, this.#waitMs)
      this.#waiting.add(go)
      this.#onRequest()
    })
  }

  /** The agent serves, or its deployment is gone. */
  end(): void {
    for (const go of this.#waiting) go()
  }
}
