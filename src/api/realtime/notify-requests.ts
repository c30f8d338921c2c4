/**
 * Asks the writers of followed logs to notify, repeatedly, with one statement for all logs. During a database outage
 * the relay's poll finds new lines.
 */

import { markFollowed } from '../../domain/logs/followers.ts'
import type { Core } from '../../domain/transaction/context.ts'

/** A third of the time for which a request is valid. */
const INTERVAL_MS = 20_000

interface Followed {
  streams: number
  ready: Promise<void>
}

export class NotifyRequests {
  readonly #core: Pick<Core, 'db' | 'log'>
  readonly #stopping: AbortSignal
  readonly #followed = new Map<string, Followed>()
  #timer: NodeJS.Timeout | null = null

  constructor(core: Pick<Core, 'db' | 'log'>, stopping: AbortSignal) {
    this.#core = core
    this.#stopping = stopping
  }

  /** `ready` resolves when later commits are notified. Never rejects. */
  request(deploymentId: string): { ready: Promise<void>; release: () => void } {
    const followed = this.#followed.get(deploymentId) ?? { streams: 0, ready: this.#say([deploymentId]) }
    this.#followed.set(deploymentId, followed)
    followed.streams++
    this.#keepSaying()
    return {
      ready: followed.ready,
      release: () => {
        if (--followed.streams === 0) this.#followed.delete(deploymentId)
      },
    }
  }

  #keepSaying(): void {
    if (this.#stopping.aborted) return
    this.#timer ??= setTimeout(() => void this.#sayAgain(), INTERVAL_MS).unref()
  }

  async #sayAgain(): Promise<void> {
    await this.#say([...this.#followed.keys()])
    this.#timer = null
    if (this.#followed.size > 0) this.#keepSaying()
  }

  async #say(deploymentIds: readonly string[]): Promise<void> {
    if (deploymentIds.length === 0 || this.#stopping.aborted) return
    const { db, log } = this.#core
    await markFollowed(db, deploymentIds).catch((error) => {
      log.warn({ err: error }, 'log writers can’t be asked to notify; lines come by polling')
    })
  }
}
