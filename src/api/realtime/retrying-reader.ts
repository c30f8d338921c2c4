/** Reads that outlast the database's absence: tried again with back-off for as long as somebody wants the answer. */
import { backoff, retry } from '../../platform/async/retry.ts'
import type { Log } from '../../platform/log/log.ts'

const SHORTEST_PAUSE = 50
const LONGEST_PAUSE = 2_000

export class RetryingReader {
  readonly #log: Log
  #down = false

  constructor(log: Log) {
    this.#log = log
  }

  /** What `read` gives once it succeeds; undefined if `signal` aborts first. An outage is logged once, and its end. */
  async read<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    if (signal.aborted) return undefined
    try {
      const answer = await retry(read, {
        signal,
        pause: (retries) => backoff(retries, SHORTEST_PAUSE, LONGEST_PAUSE),
        when: (error) => {
          if (!signal.aborted) this.#fail(error)
          return true
        },
      })
      this.#up()
      return answer
    } catch {
      // only the signal ends the tries
      return undefined
    }
  }

  #fail(error: unknown): void {
    if (this.#down) return
    this.#down = true
    this.#log.error({ err: error }, 'the event log cannot be read; streams wait, trying again')
  }

  #up(): void {
    if (!this.#down) return
    this.#down = false
    this.#log.info({}, 'the event log can be read again')
  }
}
