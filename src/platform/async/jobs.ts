/**
 * Runs jobs, each in rounds of its own, never twice at a time; an error is logged, not in each round that it is the same, and the next
 * round comes all the same.
 */
import { setMaxListeners } from 'node:events'
import type { Log } from '../log/log.ts'
import { createNotifier } from './notifier.ts'
import { createRecurringFailure } from './recurring-failure.ts'
import { sleep } from './retry.ts'

export interface Job {
  name: string
  /** seconds between two rounds that nobody asked for */
  intervalSeconds: number
  /** whether `wake` wakes it */
  woken?: boolean
  /** One round. `signal`: the server stops. */
  round(signal: AbortSignal): Promise<void>
}

/** ms between two rounds of a job that can be woken: what comes meanwhile is done together. */
const WAKE_DEBOUNCE_MS = 250

export interface Jobs {
  /** There may be something to do. */
  wake(): void
  /** Resolves when the rounds under way are over. */
  stop(): Promise<void>
}

/** The first rounds come at once. `isTold`: whether the log tells of such an error anyhow; default: of none. */
export function startJobs(log: Log, jobs: readonly Job[], isTold: (error: unknown) => boolean = () => false): Jobs {
  const notifier = createNotifier()
  const abort = new AbortController()
  // whatever is under way listens to it, however much that is
  setMaxListeners(0, abort.signal)
  const done = Promise.all(jobs.map(run))
  return {
    wake: () => notifier.notifyAll(),
    async stop() {
      abort.abort()
      notifier.close()
      await done
    },
  }

  async function run({ name, intervalSeconds: every, woken, round }: Job): Promise<void> {
    const failure = createRecurringFailure(log, { job: name }, 'a job failed; it comes again')
    while (!abort.signal.aborted) {
      const mark = notifier.mark(null)
      try {
        await round(abort.signal)
        failure.worked()
      } catch (error) {
        if (!isTold(error)) failure.failed(error)
      }
      if (woken) await sleep(WAKE_DEBOUNCE_MS, abort.signal)
      await (woken ? notifier.wait(null, mark, every * 1000) : sleep(every * 1000, abort.signal))
    }
  }
}
