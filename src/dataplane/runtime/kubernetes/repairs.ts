/**
 * Paces repairs: an object is put right at once, but somebody who changes it back again and again is answered ever
 * more slowly, and people are told.
 */
import { backoff } from '../../backoff.ts'

const FIRST_MS = 1000
const SLOWEST_MS = 60_000
/** an object that was left alone for so long is repaired at once again */
const CALM_MS = 120_000
/** so many repairs without a calm are no accident */
const FIGHT = 3

export class Repairs {
  readonly #repairs = new Map<string, { count: number; last: number }>()

  /** Takes note of a repair of an object that is due, and answers 0; or for how many ms it has to wait. */
  begin(key: string, now = performance.now()): number {
    const before = this.#repairs.get(key)
    const calm = !before || now - before.last > CALM_MS
    const wait = calm ? 0 : before.last + backoff(before.count - 1, FIRST_MS, SLOWEST_MS) - now
    if (wait > 0) return wait
    this.#repairs.set(key, { count: calm ? 1 : before.count + 1, last: now })
    return 0
  }

  /** For people: what is being changed back again and again; null: nothing. */
  fight(now = performance.now()): string | null {
    const keys = [...this.#repairs].filter(([, { count, last }]) => count >= FIGHT && now - last <= CALM_MS)
    if (keys.length === 0) return null
    return `Something else in the cluster keeps changing what is ours: ${keys.map(([key]) => key).join(', ')}.`
  }
}
