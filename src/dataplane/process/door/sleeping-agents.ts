/**
 * Tells the door which deployments of this server are asleep, and wakes them at a request. Starts a door when none runs, because a
 * sleeping deployment has no keeper for that.
 */
import { backoff, sleep } from '../../../platform/async/retry.ts'
import type { Sleeper } from './messages.ts'
import type { ServerLink } from './server-link.ts'
import { startDoor } from './start-door.ts'

export class SleepingAgents {
  readonly #link: ServerLink
  /** by deployment */
  readonly #all = new Map<string, { sleeper: Sleeper; wake: () => void }>()
  readonly #closing = new AbortController()
  #following = false

  constructor(link: ServerLink) {
    this.#link = link
    link.onWake = (deployment) => this.#all.get(deployment)?.wake()
  }

  /**
   * Lets the door hold new requests from now on, if none was open for `idleMs`. Returns null then; otherwise, or when no door answers,
   * the ms after which to ask again.
   */
  async tryToSleep(sleeper: Sleeper, idleMs: number): Promise<number | null> {
    const answer = await this.#link.request({ do: 'sleep', sleeper, idleMs })
    return answer?.againMs === undefined ? idleMs : answer.againMs
  }

  /** Its agent has ended. `wake`: called, maybe repeatedly, while requests wait. */
  add(sleeper: Sleeper, wake: () => void): void {
    this.#all.set(sleeper.deployment, { sleeper, wake })
    if (this.#following) void this.#tell(sleeper)
    else void this.#follow()
  }

  /** This server starts the agent, or is no longer responsible for it. */
  remove(deployment: string): void {
    this.#all.delete(deployment)
  }

  /** Closes the address of a deleted deployment, if it is asleep. */
  async forget(deployment: string): Promise<void> {
    await this.#link.request({ do: 'forget', deployment })
  }

  close(): void {
    this.#closing.abort()
    this.#all.clear()
  }

  async #tell(sleeper: Sleeper): Promise<void> {
    await this.#link.request({ do: 'sleep', sleeper, idleMs: null }).catch(() => undefined)
  }

  /** Keeps a door running while deployments are asleep, and tells each door of them. */
  async #follow(): Promise<void> {
    this.#following = true
    const { signal } = this.#closing
    for (let tries = 0; this.#all.size > 0 && !signal.aborted; tries++) {
      if (await this.#followOne().catch(() => false)) tries = -1
      else await sleep(backoff(tries, 20, 500), signal)
    }
    this.#following = false
  }

  /** True: a door has ended. False: none ran, so one was started. */
  async #followOne(): Promise<boolean> {
    const connection = await this.#link.connect()
    if (!connection) {
      startDoor(await this.#link.program())
      return false
    }
    for (const { sleeper } of this.#all.values()) void this.#tell(sleeper)
    await connection.closed
    return true
  }
}
