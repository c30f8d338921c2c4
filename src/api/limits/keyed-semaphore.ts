/**
 * Bounds the calls of each key that run at once (one, while keys compete for the CPU); the others wait in order. A call
 * that runs for long makes room for the next one and goes on: it waits for something (a lock, another server). While the
 * CPU is what is short none makes room, since more calls at once would only make all of them slower.
 */
import type { Pressure } from './load-shedding.ts'
import type { Visit } from './request-scope.ts'

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
const NOTHING: Leave = () => {}

interface Line {
  inside: number
  /** in their order; each is called with whether it may come in */
  waiting: Set<(admitted: boolean) => void>
}

/** One that has come in. */
interface Insider {
  key: string
  line: Line
  /** performance.now() of when its turn is over */
  due: number
  /** how often it was let be for the CPU's sake */
  times: number
  left: boolean
}

const LONGEST_WAIT = 10_000
/** ms that a timer may come before its time */
const EARLY = 1
/** ms that a timer of a server with time to spare may be late */
const LATE = 20
/** So often one that stays long is not let out for the CPU's sake. */
const MOST_TIMES = 20

export class Gate {
  readonly #options: GateOptions
  readonly #lines = new Map<string, Line>()
  /** insiders by when their turns are over */
  readonly #turns = new Set<Insider>()
  #timer: NodeJS.Timeout | null = null

  constructor(options: GateOptions) {
    this.#options = options
  }

  /** Null: too many wait already, it took too long, or who is to come in has gone. */
  async enter(key: string, who?: AbortSignal | Pick<Visit, 'gone'>): Promise<Leave | null> {
    return this.enterNow(key) ?? this.#enterLater(key, who)
  }

  /** Where there is room at once; null: there is none, then `enter` waits for it. */
  enterNow(key: string): Leave | null {
    const { most, pressure } = this.#options
    if (most === 0) return NOTHING
    pressure?.called(key)
    let line = this.#lines.get(key)
    if (!line) {
      line = { inside: 0, waiting: new Set() }
      this.#lines.set(key, line)
    }
    if (line.inside >= this.#most) return null
    line.inside++
    return this.#insider(key, line)
  }

  async #enterLater(key: string, who?: AbortSignal | Pick<Visit, 'gone'>): Promise<Leave | null> {
    // there are some inside
    const line = this.#lines.get(key)!
    if (line.waiting.size >= this.#options.queue || !(await this.#wait(line, signalOf(who)))) return null
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
    const insider: Insider = { key, line, due: 0, times: 0, left: false }
    if (this.#options.turnMs !== undefined) this.#watch(insider, this.#options.turnMs)
    return () => this.#leave(insider)
  }

  #leave(insider: Insider): void {
    if (insider.left) return
    insider.left = true
    this.#turns.delete(insider)
    const { key, line } = insider
    line.inside--
    // places are handed over, so that nobody who comes now takes them
    if (line.waiting.size > 0)
      for (const next of [...line.waiting].slice(0, Math.max(0, this.#most - line.inside))) {
        line.inside++
        next(true)
      }
    if (line.inside === 0) this.#lines.delete(key)
  }

  /** One timer for all: nearly everybody has left when a turn is over. */
  #watch(insider: Insider, turnMs: number): void {
    insider.due = performance.now() + turnMs
    this.#turns.add(insider)
    this.#timer ??= setTimeout(this.#look, turnMs).unref()
  }

  readonly #look = (): void => {
    const { turnMs = 0 } = this.#options
    this.#timer = null
    for (const insider of this.#turns) {
      const late = performance.now() - insider.due
      if (late < -EARLY) {
        this.#timer = setTimeout(this.#look, -late).unref()
        return
      }
      this.#turns.delete(insider)
      if (late <= LATE || insider.times === MOST_TIMES) {
        this.#leave(insider)
        continue
      }
      insider.times++
      // the last ones now: the loop comes to them, and sets the timer for whoever is the first
      insider.due = performance.now() + turnMs
      this.#turns.add(insider)
    }
  }
}

/** Of a visit it is made when it is asked for: who need not wait has no use for it. */
function signalOf(who: AbortSignal | Pick<Visit, 'gone'> | undefined): AbortSignal | undefined {
  return who instanceof AbortSignal ? who : who?.gone
}
