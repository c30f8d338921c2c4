/**
 * Grace periods: a problem becomes a failure only when it has lasted for its `graceMs`. Counted by our own clock from when
 * it was first observed, so that clocks that differ from the cluster's don't matter.
 */
import type { Problem } from './pod-problems.ts'

export class GracePeriods {
  /** by key, when it was first observed (performance.now()) and the best words for it */
  readonly #since = new Map<string, { since: number; message: string }>()

  /**
   * Takes note of the problems there are at `now`. `failed`: the first one that has lasted too long. `againInMs`:
   * when to check again even if nothing happens, null: nothing is pending.
   */
  check(problems: readonly Problem[], now: number): { failed: Problem | null; againInMs: number | null } {
    const keys = new Set(problems.map(({ key }) => key))
    for (const key of this.#since.keys()) if (!keys.has(key)) this.#since.delete(key)
    let againInMs: number | null = null
    for (const problem of problems) {
      const first = this.#since.get(problem.key) ?? { since: now, message: problem.message }
      if (!problem.vague) first.message = problem.message
      this.#since.set(problem.key, first)
      const left = first.since + problem.graceMs - now
      if (left <= 0) return { failed: { ...problem, message: first.message }, againInMs: null }
      againInMs = Math.min(againInMs ?? left, left)
    }
    return { failed: null, againInMs }
  }
}
