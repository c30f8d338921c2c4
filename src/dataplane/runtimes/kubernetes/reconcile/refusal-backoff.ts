/**
 * What the API server refused is not tried again at every event, but after ever longer waits, until something else is
 * desired.
 */
import { backoff } from '../../../../platform/async/retry.ts'
import type { ApiRefused } from '../api-server/errors.ts'

/** first and longest wait until the same is tried again, in ms */
export const REFUSED_MS = [5000, 300_000] as const

export class RefusalBackoff {
  readonly #refusals = new Map<string, { error: ApiRefused; until: number; count: number }>()

  add(key: string, error: ApiRefused): void {
    const count = this.#refusals.get(key)?.count ?? 0
    const until = performance.now() + backoff(count, ...REFUSED_MS)
    this.#refusals.set(key, { error, until, count: count + 1 })
  }

  /** Why it is not to be tried yet, and for how many ms; null: it may be. */
  pending(key: string): { error: ApiRefused; ms: number } | null {
    const { error, until = 0 } = this.#refusals.get(key) ?? {}
    const ms = until - performance.now()
    return error && ms > 0 ? { error, ms } : null
  }

  /** Of one object, or of all. */
  forget(key?: string): void {
    if (key === undefined) this.#refusals.clear()
    else this.#refusals.delete(key)
  }
}
