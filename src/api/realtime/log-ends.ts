/**
 * Detects the end of followed logs: a build has ended, a deployment is gone. Events trigger a check. A slow poll
 * covers ends without an event (a worker stopped, an event was missed), in one statement for all logs.
 */
import type { EventScope, StoredEvent } from '../../domain/events/read.ts'
import { type LogName, type LogState, readLogStates } from '../../domain/logs/follow.ts'
import type { Db } from '../../domain/transaction/context.ts'
import { createBatcher } from '../../platform/async/batcher.ts'
import type { Feed } from './feed.ts'
import type { LogReader } from './log-reader.ts'

export interface LogEndsOptions {
  db: Db
  reader: LogReader
  events: Feed<StoredEvent, EventScope>
  /** Interval of the poll in ms. */
  pollEvery: number
  stopping: AbortSignal
}

export class LogEnds {
  readonly #options: LogEndsOptions
  /** One check per stream; concurrent checks share a statement. */
  readonly #checks = new Set<() => Promise<void>>()
  readonly #gather = createBatcher({ maxBatch: Number.POSITIVE_INFINITY, gathersTurn: true })
  #poll: NodeJS.Timeout | null = null

  constructor(options: LogEndsOptions) {
    this.#options = options
  }

  /** Calls back once when the log has ended, with the id of the last line. Returns the function that ends the watch. */
  watch(workspaceId: string, name: LogName, onOver: (end: bigint) => void): () => void {
    const { deploymentId, revisionId } = name
    const check = async () => {
      const state = await this.#gather('states', name, (names) => this.#read(names)).catch(() => null)
      if (state?.over && this.#checks.delete(check)) onOver(state.end)
    }
    const events = this.#options.events.watch(workspaceId, {
      wants: (event) =>
        event.deploymentId === deploymentId &&
        (event.type === 'deployment.torn_down' || (revisionId !== null && event.revisionId === revisionId)),
      on: () => void check(),
    })
    this.#checks.add(check)
    // an end since the caller's last read has no event any more
    void events.ready.then(check)
    this.#keepPolling()
    return () => {
      events.close()
      this.#checks.delete(check)
    }
  }

  #keepPolling(): void {
    if (this.#options.stopping.aborted) return
    const round = async () => {
      await Promise.all([...this.#checks].map((check) => check()))
      this.#poll = null
      if (this.#checks.size > 0) this.#keepPolling()
    }
    this.#poll ??= setTimeout(() => void round(), this.#options.pollEvery).unref()
  }

  /** Reads each log once. */
  async #read(names: readonly LogName[]): Promise<LogState[]> {
    const { db, reader } = this.#options
    const keys = names.map(({ type, deploymentId, revisionId }) => `${type} ${revisionId ?? deploymentId}`)
    const logs = new Map(keys.map((key, i) => [key, names[i]!]))
    const states = await reader.read(() => readLogStates(db, [...logs.values()]))
    const found = new Map([...logs.keys()].map((key, i) => [key, states[i]!]))
    return keys.map((key) => found.get(key)!)
  }
}
