/** Backoff for requests that the API server refused. It ends when the desired state changes. */
import { backoff } from '../../../platform/async/retry.ts'
import type { ApiRefused } from '../api-server/errors.ts'

/** first and longest wait before a retry, in ms */
export const REFUSED_MS = [5000, 300_000] as const

export class RefusalBackoff {
  readonly #refusals = new Map<string, { error: ApiRefused; until: number; count: number }>()

  add(key: string, error: ApiRefused): void {
    const count = this.#refusals.get(key)?.count ?? 0
    const until = performance.now() + backoff(count, ...REFUSED_MS)
    this.#refusals.set(key, { error, until, count: count + 1 })
  }

  /** The refusal and the ms until a retry; null: a retry is allowed. */
  pending(key: string): { error: ApiRefused; ms: number } | null {
    const { error, until = 0 } = this.#refusals.get(key) ?? {}
    const ms = until - performance.now()
    return error && ms > 0 ? { error, ms } : null
  }

  forget(key?: string): void {
    if (key === undefined) this.#refusals.clear()
    else this.#refusals.delete(key)
  }
}
