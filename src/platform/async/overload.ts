/**
 * Whether this process is overloaded: it can't do in time what it has begun. Readiness, metrics and the dashboard show it, and
 * the built-in worker begins less while it lasts. The thresholds are explained in docs/operations.md#overload.
 */
import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Log } from '../log/log.ts'
import { resultWithin } from './time-limit.ts'

export const OVERLOAD_CAUSES = {
  CPU: 'Other processes of the machine keep this server from its CPU time.',
  DATABASE: 'The database answers slowly.',
  EVENT_LOOP: 'This server itself has more to do than one process can.',
} as const

export type OverloadCause = keyof typeof OVERLOAD_CAUSES

const WORDS: Record<OverloadCause, string> = { CPU: 'CPU', DATABASE: 'database', EVENT_LOOP: 'event loop' }

/** What one look has found. */
export interface LoadSample {
  /** 90th percentile of how late timers were, in ms */
  eventLoopMs: number
  /** one round trip; null: the database is away, which is no overload */
  databaseMs: number | null
  /** share of the last 10 s in which a task of the machine waited for a CPU, in percent; null: the kernel does not say */
  cpuPressure: number | null
}

export interface Overloaded {
  /** the most telling first */
  causes: OverloadCause[]
  since: Date
}

const SAMPLE_MS = 2000
/** Samples in a row before it is said: 6 s. */
const SAMPLES_TO_BEGIN = 3
/** Samples in a row without a cause before it has passed: 10 s. */
const SAMPLES_TO_END = 5
const EVENT_LOOP_MS = 100
/** With a CPU pressure of CPU_PRESSURE percent and more. */
const STARVED_EVENT_LOOP_MS = 50
const CPU_PRESSURE = 80
const DATABASE_MS = 500
const EVENT_LOOP_RESOLUTION_MS = 20

export class Overload {
  #now: Overloaded | null = null
  #bad = 0
  #good = 0

  /** null: it is not overloaded */
  get now(): Overloaded | null {
    return this.#now
  }

  /** Takes the next sample into account. Returns whether it is overloaded now and was not, or the reverse. */
  note(sample: LoadSample): boolean {
    const causes = causesOf(sample)
    const before = this.#now
    this.#bad = causes.length > 0 ? this.#bad + 1 : 0
    this.#good = causes.length > 0 ? 0 : this.#good + 1
    if (this.#good >= SAMPLES_TO_END) this.#now = null
    else if (causes.length > 0 && (before || this.#bad >= SAMPLES_TO_BEGIN))
      this.#now = { causes, since: before?.since ?? new Date() }
    return !before !== !this.#now
  }
}

function causesOf({ eventLoopMs, databaseMs, cpuPressure }: LoadSample): OverloadCause[] {
  const starved = cpuPressure !== null && cpuPressure >= CPU_PRESSURE
  const late = eventLoopMs >= (starved ? STARVED_EVENT_LOOP_MS : EVENT_LOOP_MS)
  const slow = databaseMs !== null && databaseMs >= DATABASE_MS
  return [
    ...(starved && (late || slow) ? ['CPU' as const] : []),
    ...(slow ? ['DATABASE' as const] : []),
    ...(late && !starved ? ['EVENT_LOOP' as const] : []),
  ]
}

/** As a part of a sentence: `this server is overloaded (CPU, database)`. */
export const describeOverload = ({ causes }: Overloaded): string =>
  `this server is overloaded (${causes.map((cause) => WORDS[cause]).join(', ')})`

/** Samples this process into `overload` until it is stopped. `ping`: one round trip to the database. */
export function watchOverload(overload: Overload, ping: () => Promise<unknown>, log: Log): () => void {
  const delay = monitorEventLoopDelay({ resolution: EVENT_LOOP_RESOLUTION_MS })
  delay.enable()
  let busy = false
  const look = async () => {
    const eventLoopMs = Math.max(0, delay.percentile(90) / 1e6 - EVENT_LOOP_RESOLUTION_MS)
    delay.reset()
    const changed = overload.note({ eventLoopMs, databaseMs: await roundTrip(ping), cpuPressure: readCpuPressure() })
    if (changed)
      log.warn({ causes: overload.now?.causes ?? [] }, overload.now ? BEGINS : 'this server is not overloaded any more')
  }
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    void look().finally(() => {
      busy = false
    })
  }, SAMPLE_MS)
  timer.unref()
  return () => {
    clearInterval(timer)
    delay.disable()
  }
}

const BEGINS = 'this server is overloaded: it begins one build or preparation at a time until that has passed'

async function roundTrip(ping: () => Promise<unknown>): Promise<number | null> {
  const began = performance.now()
  const answered = ping().then(
    () => performance.now() - began,
    () => null,
  )
  const ms = await resultWithin(SAMPLE_MS, answered)
  return ms === undefined ? SAMPLE_MS : ms
}

/** Only Linux says it, and not every kernel. */
function readCpuPressure(): number | null {
  try {
    const found = /^some avg10=([\d.]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))
    return found ? Number(found[1]) : null
  } catch {
    return null
  }
}
