/** Limits concurrent builds on a machine. Waiting builds start in order and report that they wait. */
import { Semaphore } from '../../platform/async/semaphore.ts'
import type { OnProgress, RevisionLog } from './runtime.ts'

export class BuildQueue {
  readonly #atATime: number
  readonly #limit: Semaphore

  constructor(atATime: number) {
    this.#atATime = atATime
    this.#limit = new Semaphore(atATime)
  }

  /** Runs `work` when a slot is free. Throws the signal's reason if it aborts first. */
  run<T>(log: RevisionLog, signal: AbortSignal, onProgress: OnProgress, work: () => Promise<T>): Promise<T> {
    return this.#limit.run(
      signal,
      () => {
        onProgress(null)
        return work()
      },
      () => {
        const message = `Waiting for its turn: this machine builds ${this.#atATime} at a time`
        log.write('build', message)
        onProgress({ reason: 'WAITING_FOR_TURN', message: `${message}.` })
      },
    )
  }
}
