/**
 * Backoff for repairs of drift: the first is immediate, repeated ones slow down and are reported. It counts accepted
 * repairs and those that lost against constant writes; an API outage repeats one repair many times.
 */
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { backoff } from '../../../platform/async/retry.ts'

const FIRST_MS = 1000
const SLOWEST_MS = 60_000
/** an object without drift for this long is repaired immediately again */
const CALM_MS = 120_000
/** repairs within CALM_MS of each other that are reported as contention */
const CONTENTION_REPAIRS = 3

export class RepairBackoff {
  readonly #repairs = new Map<string, { count: number; last: number }>()

  /** ms until the next repair of an object may run. */
  wait(key: string, now = performance.now()): number {
    const before = this.#recent(key, now)
    return before ? Math.max(0, before.last + backoff(before.count - 1, FIRST_MS, SLOWEST_MS) - now) : 0
  }

  add(key: string, now = performance.now()): void {
    const before = this.#recent(key, now)
    this.#repairs.set(key, { count: (before?.count ?? 0) + 1, last: now })
  }

  contention(now = performance.now()): Progress | null {
    const keys = [...this.#repairs].filter(
      ([, { count, last }]) => count >= CONTENTION_REPAIRS && now - last <= CALM_MS,
    )
    if (keys.length === 0) return null
    const message = `Another program or user keeps changing objects of this deployment: ${keys.map(([key]) => key).join(', ')}.`
    return { reason: 'CHANGED_BY_OTHERS', message }
  }

  #recent(key: string, now: number): { count: number; last: number } | null {
    const before = this.#repairs.get(key)
    return before && now - before.last <= CALM_MS ? before : null
  }
}
