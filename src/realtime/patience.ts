/** Reads that outlast the database's absence: tried again with back-off for as long as somebody wants the answer. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../domain/context.ts'

const SHORTEST_PAUSE = 50
const LONGEST_PAUSE = 2_000

export class PatientReader {
  readonly #log: Log
  #down = false

  constructor(log: Log) {
    this.#log = log
  }

  /** What `read` gives once it succeeds; undefined if `signal` aborts first. An outage is logged once, and its end. */
  async read<T>(read: () => Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    for (let retry = 0; !signal.aborted; retry++) {
      try {
        const answer = await read()
        this.#up()
        return answer
      } catch (error) {
        if (signal.aborted) break
        this.#fail(error)
        const pause = Math.min(LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** retry)
        await delay(pause, undefined, { signal }).catch(() => {})
      }
    }
    return undefined
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
