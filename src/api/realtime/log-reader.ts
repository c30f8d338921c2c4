/**
 * Reads of logs that outlast the database's absence: tried again with back-off for as long as the server runs. Reads of what is
 * past have a budget of their own, so that a storm of those who come back neither takes all connections nor delays news.
 */
import { ValidationError } from '../../domain/errors/errors.ts'
import { backoff, retry } from '../../platform/async/retry.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import type { Log } from '../../platform/log/log.ts'

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000
/** Reads of what is past, at a time. */
const MAX_PAST_READS = 3

/** Connections that reads may take at a time; of what is new, absent: as many as come. Readers that share one share them. */
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

  /** `what`: in the log, `the event log`. */
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

  /** What `read` gives once it succeeds. An outage is logged once, and its end. Rejects with a ValidationError, and when the server stops. */
  read<T>(read: () => Promise<T>): Promise<T> {
    const { live } = this.#budget
    return this.#outlast(live ? () => live.run(this.#stopping, read) : read)
  }

  /** The same of what is past, when it is its turn. */
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
        if (!this.#stopping.aborted) this.#fail(error)
        return true
      },
    })
    this.#up()
    return answer
  }

  #fail(error: unknown): void {
    if (this.#down) return
    this.#down = true
    this.#log.error({ err: error }, `${this.#what} cannot be read; streams wait, trying again`)
  }

  #up(): void {
    if (!this.#down) return
    this.#down = false
    this.#log.info({}, `${this.#what} can be read again`)
  }
}
