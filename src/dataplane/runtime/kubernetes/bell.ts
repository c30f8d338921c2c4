/**
 * Wakes whoever waits for the next change. A ring while nobody waits is not lost.
 */
export class Bell {
  #rung = false
  #wake: (() => void) | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, after `ms`, or when the signal aborts. One waits at a time. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#rung && !signal?.aborted)
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          signal?.removeEventListener('abort', wake)
          this.#wake = null
          resolve()
        }
        const timer = setTimeout(wake, ms)
        signal?.addEventListener('abort', wake, { once: true })
        this.#wake = wake
      })
    this.#rung = false
  }
}
