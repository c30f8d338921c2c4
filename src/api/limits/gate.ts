/**
 * Bounds the calls of each key that run at once (one, while keys compete for the CPU); the others wait in order. A call
 * that runs for long makes room for the next one and goes on: it waits for something (a lock, another server). While the
 * CPU is what is short none makes room, since more calls at once would only make all of them slower.
 */
import type { Pressure } from './pressure.ts'
import type { Visit } from './visit.ts'

export interface GateOptions {
  /** at once, of each key; 0: no limit */
  most: number
  /** that wait, of each key */
  queue: number
  /** ms that one waits at most; default: 10 s */
  longestWait?: number
  /** ms after which one inside does not count any more, unless the CPU is short; default: it counts until it leaves */
  turnMs?: number
  /** whether keys compete for the CPU; default: they never do */
  pressure?: Pick<Pressure, 'called' | 'high'>
}

/** Call it when done; more than once does no harm. */
export type Leave = () => void

interface Line {
  inside: number
  /** in their order; each is called with whether it may come in */
  waiting: Set<(admitted: boolean) => void>
}

const LONGEST_WAIT = 10_000
/** ms that a timer of a server with time to spare may be late */
const LATE = 20
/** So often one that stays long is not let out for the CPU's sake. */
const MOST_TIMES = 20

export class Gate {
  readonly #options: GateOptions
  readonly #lines = new Map<string, Line>()

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** Null: too many wait already, it took too long, or who is to come in has gone. */
  async enter(key: string, who?: AbortSignal | Pick<Visit, 'gone'>): Promise<Leave | null> {
    const { most, queue, pressure } = this.#options
    if (most === 0) return () => {}
    pressure?.called(key)
    const line = this.#lines.get(key) ?? { inside: 0, waiting: new Set() }
    this.#lines.set(key, line)
    if (line.inside < this.#most) line.inside++
    else if (line.waiting.size >= queue || !(await this.#wait(line, signalOf(who)))) return null
    return this.#insider(key, line)
  }

  /** At once, of each key, just now. */
  get #most(): number {
    return this.#options.pressure?.high ? 1 : this.#options.most
  }

  /** Resolves with whether a place was handed over. */
  #wait(line: Line, signal: AbortSignal | undefined): Promise<boolean> {
    if (signal?.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const called = (admitted: boolean) => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
        line.waiting.delete(called)
        // by way of the event loop, so that other work gets its turn in between
        if (admitted && this.#options.pressure?.high) setImmediate(resolve, true)
        else resolve(admitted)
      }
      const giveUp = () => called(false)
      const timer = setTimeout(giveUp, this.#options.longestWait ?? LONGEST_WAIT)
      signal?.addEventListener('abort', giveUp)
      line.waiting.add(called)
    })
  }

  #insider(key: string, line: Line): Leave {
    let left = false
    const leave = () => {
      if (left) return
      left = true
      clearTimeout(timer)
      line.inside--
      // places are handed over, so that nobody who comes now takes them
      for (const next of [...line.waiting].slice(0, Math.max(0, this.#most - line.inside))) {
        line.inside++
        next(true)
      }
      if (line.inside === 0) this.#lines.delete(key)
    }
    let timer: NodeJS.Timeout | undefined
    const { turnMs } = this.#options
    const makeRoom = (times: number) => {
      if (turnMs === undefined) return
      const due = performance.now() + turnMs
      const look = () => (times < MOST_TIMES && performance.now() - due > LATE ? makeRoom(times + 1) : leave())
      timer = setTimeout(look, turnMs).unref()
    }
    makeRoom(0)
    return leave
  }
}

/** Of a visit it is made when it is asked for: who need not wait has no use for it. */
function signalOf(who: AbortSignal | Pick<Visit, 'gone'> | undefined): AbortSignal | undefined {
  return who instanceof AbortSignal ? who : who?.gone
}
