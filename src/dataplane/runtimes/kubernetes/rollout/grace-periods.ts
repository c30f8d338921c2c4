/**
 * A problem becomes a failure when it has lasted for its `graceMs`.
 * This process's clock counts from the first observation, so clock differences to the cluster don't matter.
 */
import type { Problem } from './pod-problems.ts'

export class GracePeriods {
  /** by key: the first observation (performance.now()) and the clearest message */
  readonly #since = new Map<string, { since: number; message: string }>()

  /**
   * Records the problems at `now`. `failed`: the first problem that has lasted too long.
   * `againInMs`: ms until the next check is needed; null: none.
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
