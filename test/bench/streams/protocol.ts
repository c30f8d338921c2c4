/** What the processes of the bench of streams say to each other. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** Both servers have it: fields that a dashboard would want. */
export const SUBSCRIPTION = 'subscription { revisionStatusChanged { cursor revisionId from to message occurredAt } }'

interface Memory {
  /** bytes */
  rss: number
  heap: number
}

/** To a server: `publish` so many events, one after the other, `apart` ms from begin to begin; numbered from `from`. */
export type Order = { do: 'publish'; from: number; count: number; apart: number } | { do: 'measure'; collect: boolean }
/** From a server. `cpu`: ms since its start. */
export type Report = { url: string; keys: string[] } | { published: number } | { memory: Memory; cpu: number }

/** To the clients. `await`: until all have heard the event of this number; before it is published. */
export type ClientOrder =
  | { do: 'open'; url: string; keys: string[]; count: number; atOnce: number }
  | { do: 'await'; newest: number }

export interface Heard {
  deliveries: number
  /** ms, from before the event was written */
  p50: number
  p99: number
  lost: number
  doubled: number
  disordered: number
}
export type ClientReport = { opened: number; refused: number } | { heard: Heard }

/** Milliseconds of a clock that all processes of this machine share. */
export const now = (): number => performance.timeOrigin + performance.now()

export class Peer<Said, Told extends object> {
  readonly child: ChildProcess
  readonly #exited: Promise<unknown>

  constructor(file: URL) {
    this.child = fork(fileURLToPath(file), {
      execArgv: ['--import', 'tsx', '--expose-gc'],
    })
    this.#exited = once(this.child, 'exit')
  }

  tell(what: Told): void {
    this.child.send(what)
  }

  /** What it says next. */
  async said<T extends Said>(): Promise<T> {
    const gone = this.#exited.then(() => {
      throw new Error('a process of the bench ended before its time')
    })
    gone.catch(() => undefined)
    const [message] = await Promise.race([once(this.child, 'message'), gone])
    return message as T
  }

  async end(): Promise<void> {
    this.child.disconnect()
    await this.#exited
  }
}
