/**
 * Runs periodic jobs of a server; rounds of one job never overlap. A failed round is logged and does not stop later rounds.
 * The log does not repeat the same error for each round.
 */
import { setMaxListeners } from 'node:events'
import type { Log } from '../log/log.ts'
import { createRecurringFailure } from '../log/recurring-failure.ts'
import { createNotifier } from './notifier.ts'
import { sleep } from './retry.ts'

export interface Job {
  name: string
  /** between two rounds without a wake-up */
  intervalSeconds: number
  /** whether `wake` starts a round */
  woken?: boolean
  /** One round. `signal` aborts when the server stops. */
  round(signal: AbortSignal): Promise<void>
}

/** pause after each round of a wakeable job; wake-ups in it share the next round */
const WAKE_DEBOUNCE_MS = 250

export interface Jobs {
  /** Tells the wakeable jobs that there may be work. */
  wake(): void
  /** Resolves when running rounds have ended. */
  stop(): Promise<void>
}

/** Starts the first rounds immediately. `isTold`: whether another part logs this error; default: never. */
export function startJobs(log: Log, jobs: readonly Job[], isTold: (error: unknown) => boolean = () => false): Jobs {
  const notifier = createNotifier()
  const abort = new AbortController()
  // any number of operations may listen to it
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
    const failure = createRecurringFailure(log, { job: name }, 'a job failed; its next round retries')
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
