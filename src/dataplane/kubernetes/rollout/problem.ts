/** Problems of a rollout. Each becomes a failure when it lasts longer than its grace period. */
import type { Reason } from '../../../domain/protocol/protocol.ts'

export interface Problem {
  key: string
  reason: Reason
  message: string
  /** grace period in ms before it becomes a failure; 0: immediately */
  graceMs: number
  /** container whose last output explains the problem */
  output?: { namespace: string; pod: string; container: string; previous: boolean; running: boolean }
  /** only repeats a clearer earlier message of the same key */
  vague?: boolean
}

/** Grace periods by this process's clock, from the first observation of a problem. */
export class GracePeriods {
  /** by key: the first observation (performance.now()) and the clearest message */
  readonly #since = new Map<string, { since: number; message: string }>()

  /** `failed`: the first problem that lasted too long. `againInMs`: ms until the next check; null: none. */
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
