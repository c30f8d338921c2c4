/** Removes unneeded artifacts, one run at a time. Steps wait for it. The next run retries failures. */
import type { Logger } from 'pino'

export class Pruning {
  readonly #prune: () => Promise<void>
  readonly #log: Logger
  #done: Promise<void> = Promise.resolve()
  #waits = false

  constructor(prune: () => Promise<void>, log: Logger) {
    this.#prune = prune
    this.#log = log
  }

  /** Resolves when no run is active. */
  get done(): Promise<void> {
    return this.#done
  }

  /** Requests a run, or joins a queued one: runs are slow when a registry does not answer. */
  ask(): void {
    if (this.#waits) return
    this.#waits = true
    this.#done = this.#done
      .then(() => {
        this.#waits = false
        return this.#prune()
      })
      .catch((error) => this.#log.warn({ err: error }, 'Old artifacts could not be removed'))
  }
}
