/**
 * Paces repairs: an object is put right at once, but somebody who changes it back again and again is answered ever
 * more slowly, and people are told. Only what the API server accepted was a repair, or what it did not because others
 * write all the time: while it is away one change by hand is tried to be put right many times.
 */
import type { Progress } from '../../../domain/work/protocol.ts'
import { backoff } from '../../backoff.ts'

const FIRST_MS = 1000
const SLOWEST_MS = 60_000
/** an object that was left alone for so long is repaired at once again */
const CALM_MS = 120_000
/** so many repairs without a calm are no accident */
const FIGHT = 3

export class Repairs {
  readonly #repairs = new Map<string, { count: number; last: number }>()

  /** For how many ms the next repair of an object has to wait. */
  wait(key: string, now = performance.now()): number {
    const before = this.#recent(key, now)
    return before ? Math.max(0, before.last + backoff(before.count - 1, FIRST_MS, SLOWEST_MS) - now) : 0
  }

  /** Takes note of one that was made. */
  made(key: string, now = performance.now()): void {
    const before = this.#recent(key, now)
    this.#repairs.set(key, { count: (before?.count ?? 0) + 1, last: now })
  }

  /** For people: what is being changed back again and again; null: nothing. */
  fight(now = performance.now()): Progress | null {
    const keys = [...this.#repairs].filter(([, { count, last }]) => count >= FIGHT && now - last <= CALM_MS)
    if (keys.length === 0) return null
    const message = `Something else in the cluster keeps changing what is ours: ${keys.map(([key]) => key).join(', ')}.`
    return { reason: 'CHANGED_BY_OTHERS', message }
  }

  #recent(key: string, now: number): { count: number; last: number } | null {
    const before = this.#repairs.get(key)
    return before && now - before.last <= CALM_MS ? before : null
  }
}
