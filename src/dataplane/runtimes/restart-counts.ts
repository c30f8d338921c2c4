/** Counts restarts of agents for metrics: each once, in the sample after it. */
import type { AgentRestart } from '../../domain/protocol/protocol.ts'

/** Older ones were counted by the holder before, or before this process started. */
const MAX_AGE_MS = 60_000

export class RestartCounts {
  /** ids */
  #seen = new Set<string>()

  /** The new restarts of all held deployments, by revision. `recent`: the newest restarts that the runtime knows. */
  count(recent: readonly AgentRestart[], now = Date.now()): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { id, revisionId, at } of recent) {
      if (this.#seen.has(id) || now - Date.parse(at) > MAX_AGE_MS) continue
      counts.set(revisionId, (counts.get(revisionId) ?? 0) + 1)
    }
    this.#seen = new Set(recent.map(({ id }) => id))
    return counts
  }
}
