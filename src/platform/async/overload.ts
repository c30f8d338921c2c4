/**
 * Detects that this process is overloaded. Readiness, metrics and the dashboard show it, and the built-in worker starts
 * less work while it lasts. docs/operations.md#overload explains the thresholds.
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

export interface LoadSample {
  /** 90th percentile of timer delay, in ms */
  eventLoopMs: number
  /** duration of one round trip, in ms; null: the database is unavailable, which is not an overload */
  databaseMs: number | null
  /** share of the last 10 s in which some task waited for a CPU, in percent; null: the kernel does not report it */
  cpuPressure: number | null
}

export interface Overloaded {
  /** most significant cause first */
  causes: OverloadCause[]
  since: Date
}

const SAMPLE_MS = 2000
/** Consecutive samples with a cause before an overload starts: 6 s. */
const SAMPLES_TO_BEGIN = 3
/** Consecutive samples without a cause before it ends: 10 s. */
const SAMPLES_TO_END = 5
const EVENT_LOOP_MS = 100
/** Applies from a CPU pressure of CPU_PRESSURE percent. */
const STARVED_EVENT_LOOP_MS = 50
const CPU_PRESSURE = 80
const DATABASE_MS = 500
const EVENT_LOOP_RESOLUTION_MS = 20

export class Overload {
  #now: Overloaded | null = null
  #bad = 0
  #good = 0

  /** null when the process is not overloaded */
  get now(): Overloaded | null {
    return this.#now
  }

  /** Records a sample. Returns whether the overload started or ended with it. */
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

/** For use in a sentence: `this server is overloaded (CPU, database)`. */
export const describeOverload = ({ causes }: Overloaded): string =>
  `this server is overloaded (${causes.map((cause) => WORDS[cause]).join(', ')})`

/** Measures this process into `overload` and returns a function that stops it. `ping`: one round trip to the database. */
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

const BEGINS = 'this server is overloaded: it starts one build or preparation at a time until the overload ends'

async function roundTrip(ping: () => Promise<unknown>): Promise<number | null> {
  const began = performance.now()
  const answered = ping().then(
    () => performance.now() - began,
    () => null,
  )
  const ms = await resultWithin(SAMPLE_MS, answered)
  return ms === undefined ? SAMPLE_MS : ms
}

/** Null on systems other than Linux, and on Linux kernels without pressure information. */
function readCpuPressure(): number | null {
  try {
    const found = /^some avg10=([\d.]+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))
    return found ? Number(found[1]) : null
  } catch {
    return null
  }
}
