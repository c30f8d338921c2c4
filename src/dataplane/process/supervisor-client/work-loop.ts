/** Repeats work after each change, and after an error with back-off. */
import { backoff, sleep } from '../../../platform/async/retry.ts'

const MIN_PAUSE_MS = 100
const MAX_PAUSE_MS = 10_000

export class WorkLoop {
  readonly #work: () => Promise<void>
  readonly #onError: (error: unknown) => void
  readonly #ending = new AbortController()
  #changed = new AbortController()
  #working = false

  /** `work` does everything that is due and never runs concurrently. `onError` gets each error before the pause. */
  constructor(work: () => Promise<void>, onError: (error: unknown) => void) {
    this.#work = work
    this.#onError = onError
  }

  get signal(): AbortSignal {
    return this.#ending.signal
  }

  /** Call after each change. The first call starts the loop. */
  wake(): void {
    this.#changed.abort()
    if (!this.#working) void this.#run()
  }

  /** Starts no further work. Work in progress continues. */
  end(): void {
    this.#ending.abort()
    this.#changed.abort()
  }

  async #run(): Promise<void> {
    this.#working = true
    for (let failures = 0; !this.signal.aborted; ) {
      this.#changed = new AbortController()
      const changed = this.#changed.signal
      try {
        await this.#work()
        failures = 0
        await aborted(changed)
      } catch (error) {
        this.#onError(error)
        await sleep(backoff(failures++, MIN_PAUSE_MS, MAX_PAUSE_MS), changed)
      }
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
