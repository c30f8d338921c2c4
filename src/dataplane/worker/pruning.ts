/** Removing what is not needed any more, one time after the other: steps wait for it, and what fails is tried with the next. */
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

  /** Resolves when nothing is being removed. */
  get done(): Promise<void> {
    return this.#done
  }

  /** It is due. Another one that has not begun yet will do: where nothing answers each takes its time. */
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
