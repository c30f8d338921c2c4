/**
 * How long problems have lasted: the part of judging that needs a clock. Counted by our own clock from when a
 * problem was first seen, so that clocks that differ from the cluster's don't matter.
 */
import type { Problem } from './pod-problems.ts'

export class Patience {
  /** by key, when it was first seen (performance.now()) and the best words for it */
  readonly #seen = new Map<string, { since: number; message: string }>()

  /**
   * Takes note of the problems there are at `now`. `failed`: the first one that has lasted too long. `againInMs`:
   * when to look again even if nothing happens, null: nothing is pending.
   */
  look(problems: readonly Problem[], now: number): { failed: Problem | null; againInMs: number | null } {
    const keys = new Set(problems.map(({ key }) => key))
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key)
    let againInMs: number | null = null
    for (const problem of problems) {
      const seen = this.#seen.get(problem.key) ?? { since: now, message: problem.message }
      if (!problem.vague) seen.message = problem.message
      this.#seen.set(problem.key, seen)
      const left = seen.since + problem.graceMs - now
      if (left <= 0) return { failed: { ...problem, message: seen.message }, againInMs: null }
      againInMs = Math.min(againInMs ?? left, left)
    }
    return { failed: null, againInMs }
  }
}
