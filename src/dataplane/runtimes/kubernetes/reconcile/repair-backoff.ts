/**
 * Paces the repair of drift: an object is repaired at once, but one that is changed again and again is repaired ever more
 * slowly, and that is reported. Only repairs count that the API server accepted, or that failed because others write all
 * the time: while it is away, the repair of one change by hand is tried many times.
 */
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import { backoff } from '../../../../platform/async/retry.ts'

const FIRST_MS = 1000
const SLOWEST_MS = 60_000
/** an object that was left alone for so long is repaired at once again */
const CALM_MS = 120_000
/** so many repairs within CALM_MS of each other are no accident */
const CONTENTION_REPAIRS = 3

export class RepairBackoff {
  readonly #repairs = new Map<string, { count: number; last: number }>()

  /** For how many ms the next repair of an object has to wait. */
  wait(key: string, now = performance.now()): number {
    const before = this.#recent(key, now)
    return before ? Math.max(0, before.last + backoff(before.count - 1, FIRST_MS, SLOWEST_MS) - now) : 0
  }

  /** Takes note of a repair. */
  add(key: string, now = performance.now()): void {
    const before = this.#recent(key, now)
    this.#repairs.set(key, { count: (before?.count ?? 0) + 1, last: now })
  }

  /** For people: what is being changed back again and again; null: nothing. */
  contention(now = performance.now()): Progress | null {
    const keys = [...this.#repairs].filter(
      ([, { count, last }]) => count >= CONTENTION_REPAIRS && now - last <= CALM_MS,
    )
    if (keys.length === 0) return null
    const message = `Something else in the cluster keeps changing what is ours: ${keys.map(([key]) => key).join(', ')}.`
    return { reason: 'CHANGED_BY_OTHERS', message }
  }

  #recent(key: string, now: number): { count: number; last: number } | null {
    const before = this.#repairs.get(key)
    return before && now - before.last <= CALM_MS ? before : null
  }
}
