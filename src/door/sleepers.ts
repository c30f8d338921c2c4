/** The list of sleeping deployments in the door's folder, for the next door. */
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
