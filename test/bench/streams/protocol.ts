/** Messages between the bench of streams and its processes. */
import { once } from 'node:events'
import { type Program, start } from '../place/processes.ts'
import { ROOT } from '../place/server.ts'

/** Fields that a dashboard would select; both servers have them. */
export const SUBSCRIPTION = 'subscription { revisionStatusChanged { cursor revisionId from to message occurredAt } }'

/**
 * Messages to the clients. `await` (sent before the event is published): report when all have received the event of
 * this number.
 */
export type ClientOrder =
  | { do: 'open'; url: string; keys: string[]; count: number; atOnce: number }
  | { do: 'await'; newest: number }

export interface Heard {
  deliveries: number
  /** Time in ms since before the event was written. */
  p50: number
  p99: number
  lost: number
  doubled: number
  disordered: number
}
export type ClientReport = { opened: number; refused: number } | { heard: Heard }

/** Milliseconds of a clock that all processes of this machine share. */
export const now = (): number => performance.timeOrigin + performance.now()

/** A separate process with the clients. */
export class Clients {
  readonly #program: Program

  constructor(folder: string) {
    const file = new URL('./clients.ts', import.meta.url).pathname
    this.#program = start('clients', folder, [process.execPath, '--import', 'tsx', file], { cwd: ROOT, ipc: true })
  }

  /** Returns the time in ms until all are open, and the number of refusals. */
  async open(to: { url: string; keys: string[] }, count: number, atOnce: number) {
    const began = performance.now()
    const { opened, refused } = await this.#ask<{ opened: number; refused: number }>({
      do: 'open',
      url: to.url,
      keys: to.keys,
      count,
      atOnce,
    })
    return { ms: performance.now() - began, opened, refused }
  }

  /** Must be called before the first of the events is published. */
  async heard(newest: number): Promise<Heard> {
    return (await this.#ask<{ heard: Heard }>({ do: 'await', newest })).heard
  }

  end(): Promise<void> {
    return this.#program.end()
  }

  async #ask<T extends ClientReport>(order: ClientOrder): Promise<T> {
    const { child, name } = this.#program
    const over = new AbortController()
    const { signal } = over
    const gone = once(child, 'exit', { signal }).then(() => {
      throw new Error(`${name} ended before its time`)
    })
    child.send(order)
    try {
      const [said] = await Promise.race([once(child, 'message', { signal }), gone])
      return said as T
    } finally {
      gone.catch(() => undefined)
      over.abort()
    }
  }
}
