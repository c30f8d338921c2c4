/**
 * Runs jobs, each in rounds of its own, never twice at a time; an error is logged and the next round comes all the
 * same.
 */
import { setMaxListeners } from 'node:events'
import { sleep } from '../dataplane/backoff.ts'
import type { Core } from '../domain/context.ts'
import { createWakeup } from './wakeup.ts'

export interface Job {
  name: string
  /** seconds between two looks that nobody asked for */
  every: number
  /** whether `wake` wakes it */
  woken: boolean
  /** One round. `signal`: the server stops. */
  round(core: Core, signal: AbortSignal): Promise<void>
}

/** ms between two rounds of a job: what comes meanwhile is done together. */
const PAUSE = 250

export interface Jobs {
  /** There may be something to do. */
  wake(): void
  /** Resolves when the rounds under way are over. */
  stop(): Promise<void>
}

/** `of`: whose jobs they are, for the log. The first rounds come at once. */
export function startJobs(core: Core, of: string, jobs: readonly Job[]): Jobs {
  const bell = createWakeup()
  const abort = new AbortController()
  // whatever is under way listens to it, however much that is
  setMaxListeners(0, abort.signal)
  const done = Promise.all(jobs.map(run))
  return {
    wake: () => bell.ringAll(),
    async stop() {
      abort.abort()
      bell.close()
      await done
    },
  }

  async function run({ name, every, woken, round }: Job): Promise<void> {
    while (!abort.signal.aborted) {
      const seen = bell.mark(null)
      try {
        await round(core, abort.signal)
      } catch (error) {
        core.log.error({ err: error, job: name }, `a job of ${of} failed; it comes again`)
      }
      await sleep(PAUSE, abort.signal)
      await (woken ? bell.wait(null, seen, every * 1000) : sleep(every * 1000, abort.signal))
    }
  }
}
