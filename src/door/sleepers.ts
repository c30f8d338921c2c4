/** Sleeping deployments: their list in the door's folder, for the next door, and the wait of requests for a wake-up. */
import fs from 'node:fs'
import path from 'node:path'
import type { Sleeper } from '../dataplane/process/door/messages.ts'
import { writeAtomically } from '../platform/files/atomic-file.ts'

export class Sleepers {
  readonly #file: string
  readonly #all = new Map<string, Sleeper>()

  constructor(folder: string) {
    this.#file = path.join(folder, 'asleep.json')
    try {
      const kept = JSON.parse(fs.readFileSync(this.#file, 'utf8')) as Sleeper[]
      for (const sleeper of kept) this.#all.set(sleeper.deployment, sleeper)
    } catch {
      // none sleeps
    }
  }

  get all(): Sleeper[] {
    return [...this.#all.values()]
  }

  add(sleeper: Sleeper): void {
    if (JSON.stringify(this.#all.get(sleeper.deployment)) === JSON.stringify(sleeper)) return
    this.#all.set(sleeper.deployment, sleeper)
    this.#write()
  }

  remove(deployment: string): void {
    if (this.#all.delete(deployment)) this.#write()
  }

  #write(): void {
    try {
      writeAtomically(this.#file, JSON.stringify(this.all))
    } catch {
      // the disk is full: servers tell the next door
    }
  }
}

/** A sleeping agent at the door: its requests wait until it was started. */
export class Sleep {
  readonly #waitMs: number
  readonly #onRequest: () => void
  readonly #waiting = new Set<() => void>()

  /** `waitMs`: longest wait of a request. `onRequest`: called when a request begins to wait. */
  constructor(waitMs: number, onRequest: () => void) {
    this.#waitMs = waitMs
    this.#onRequest = onRequest
  }

  get hasRequests(): boolean {
    return this.#waiting.size > 0
  }

  /** Resolves when the agent serves, or when the time is over. */
  serves(): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        clearTimeout(timer)
        this.#waiting.delete(go)
        resolve()
      }
      const timer = setTimeout(go, this.#waitMs)
      this.#waiting.add(go)
      this.#onRequest()
    })
  }

  /** The agent serves, or its deployment is gone. */
  end(): void {
    for (const go of this.#waiting) go()
  }
}
