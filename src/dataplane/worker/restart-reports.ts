/** Repeats each restart of an agent in several heartbeats: the control plane skips it while the deployment is locked. */
import type { AgentRestart } from '../../domain/protocol/protocol.ts'
import { storable } from '../output/terminal-text.ts'

const REPEATS = 3
/** in one heartbeat */
const MAX_REPORTS = 50

export class RestartReports {
  /** by id: the number of answered heartbeats that had it */
  #answered = new Map<string, number>()
  #sent: readonly AgentRestart[] = []

  /** `recent`: the newest restarts that the runtime knows */
  toReport(recent: readonly AgentRestart[]): AgentRestart[] {
    this.#answered = new Map(recent.map(({ id }) => [id, this.#answered.get(id) ?? 0]))
    const due = recent.filter(({ id }) => this.#answered.get(id)! < REPEATS).slice(-MAX_REPORTS)
    this.#sent = due
    return due.map((restart) => ({ ...restart, message: storable(restart.message) }))
  }

  /** The last heartbeat was answered. */
  reported(): void {
    for (const { id } of this.#sent) this.#answered.set(id, (this.#answered.get(id) ?? 0) + 1)
    this.#sent = []
  }
}
