/**
 * Reads logs with retries through a database outage, as long as the server runs. Reads of the past have a separate
 * budget, so that many returning clients neither take all connections nor delay new items.
 */
import { ValidationError } from '../../domain/errors/errors.ts'
import { backoff, retry } from '../../platform/async/retry.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import type { Log } from '../../platform/log/log.ts'

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000
/** Concurrent reads of the past. */
const MAX_PAST_READS = 3

/** Concurrent reads; `live` absent: unlimited. Readers with the same budget object share it. */
export interface ReadBudget {
  past: Semaphore
  live?: Semaphore
}

export class LogReader {
  readonly #log: Log
  readonly #what: string
  readonly #stopping: AbortSignal
  readonly #budget: ReadBudget
  #down = false

  /** `what`: the log's name in log lines, such as `the event log`. */
  constructor(
    log: Log,
    what: string,
    stopping: AbortSignal,
    budget: ReadBudget = { past: new Semaphore(MAX_PAST_READS) },
  ) {
    this.#log = log
    this.#what = what
    this.#stopping = stopping
    this.#budget = budget
  }

  /**
   * Returns the result of `read` after it succeeds. Logs the start and the end of an outage once. Rejects with a
   * ValidationError, and when the server stops.
   */
  read<T>(read: () => Promise<T>): Promise<T> {
    const { live } = this.#budget
    return this.#outlast(live ? () => live.run(this.#stopping, read) : read)
  }

  /** Reads the past, within the budget. */
  past<T>(read: () => Promise<T>): Promise<T> {
    return this.#budget.past.run(this.#stopping, () => this.#outlast(read))
  }

  async #outlast<T>(read: () => Promise<T>): Promise<T> {
    this.#stopping.throwIfAborted()
    const answer = await retry(read, {
      signal: this.#stopping,
      pause: (retries) => backoff(retries, MIN_PAUSE_MS, MAX_PAUSE_MS),
      when: (error) => {
        if (error instanceof ValidationError) return false
        if (!this.#down && !this.#stopping.aborted) {
          this.#down = true
          this.#log.error({ err: error }, `${this.#what} cannot be read; streams wait, trying again`)
        }
        return true
      },
    })
    if (this.#down) this.#log.info({}, `${this.#what} can be read again`)
    this.#down = false
    return answer
  }
}
