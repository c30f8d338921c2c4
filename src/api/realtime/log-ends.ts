/**
 * Detects the end of followed logs: a build has ended, a deployment is gone. Events trigger a check. A slow poll
 * covers ends without an event (a worker stopped, an event was missed), in one statement for all logs.
 */

import type { EventScope, StoredEvent } from '../../domain/events/read.ts'
import { type LogName, readLogStates } from '../../domain/logs/follow.ts'
import type { Db } from '../../domain/transaction/context.ts'
import type { Feed } from './feed.ts'
import type { LogReader } from './log-reader.ts'

interface Followed {
  name: LogName
  /** Called with the id of the last line. */
  readonly over: Set<(end: bigint) => void>
  stop(): void
}

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
  readonly #followed = new Map<string, Followed>()
  readonly #due = new Set<Followed>()
  #looking = false
  #poll: NodeJS.Timeout | null = null

  constructor(options: LogEndsOptions) {
    this.#options = options
  }

  /** Calls back once when the log has ended. Returns the function that ends the watch. */
  watch(workspaceId: string, name: LogName, onOver: (end: bigint) => void): () => void {
    const key = `${name.type} ${name.revisionId ?? name.deploymentId}`
    const followed = this.#followed.get(key) ?? this.#begin(workspaceId, key, name)
    followed.over.add(onOver)
    return () => {
      followed.over.delete(onOver)
      if (followed.over.size > 0) return
      followed.stop()
      if (this.#followed.get(key) === followed) this.#followed.delete(key)
    }
  }

  #begin(workspaceId: string, key: string, name: LogName): Followed {
    const { events } = this.#options
    const followed: Followed = { name, over: new Set(), stop: () => watch.close() }
    const watch = events.watch(workspaceId, {
      wants: ({ type, deploymentId, revisionId }) =>
        deploymentId === name.deploymentId &&
        (type === 'deployment.torn_down' || (name.revisionId !== null && revisionId === name.revisionId)),
      on: () => this.#look([followed]),
    })
    this.#followed.set(key, followed)
    // an end since the caller's last read has no event any more
    void watch.ready.then(() => this.#look([followed]))
    this.#keepPolling()
    return followed
  }

  #keepPolling(): void {
    if (this.#options.stopping.aborted) return
    const round = () => {
      this.#poll = null
      this.#look(this.#followed.values())
      if (this.#followed.size > 0) this.#keepPolling()
    }
    this.#poll ??= setTimeout(round, this.#options.pollEvery).unref()
  }

  #look(followed: Iterable<Followed>): void {
    for (const one of followed) this.#due.add(one)
    if (!this.#looking && this.#due.size > 0) void this.#lookAtDue()
  }

  async #lookAtDue(): Promise<void> {
    this.#looking = true
    while (this.#due.size > 0 && !this.#options.stopping.aborted) {
      const due = [...this.#due]
      this.#due.clear()
      const names = due.map(({ name }) => name)
      const { db, reader } = this.#options
      const states = await reader.read(() => readLogStates(db, names)).catch(() => [])
      for (const [i, { over, end }] of states.entries()) {
        const waiting = over ? [...due[i]!.over] : []
        for (const call of waiting) {
          due[i]!.over.delete(call)
          call(end)
        }
      }
    }
    this.#looking = false
  }
}
