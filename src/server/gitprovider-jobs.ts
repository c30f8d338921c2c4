/** What a server does with the git provider without being asked. NOTIFY wakes its jobs; each also looks by itself now and then. */

import { sleep } from '../dataplane/backoff.ts'
import type { Core } from '../domain/context.ts'
import { handleDeliveries } from '../domain/pushes/handle.ts'
import { purgeDeliveries } from '../domain/pushes/purge.ts'
import { reportStatuses } from '../domain/pushes/report-statuses.ts'
import { createWakeup } from './wakeup.ts'

interface Job {
  name: string
  /** seconds between two looks that nobody asked for */
  every: number
  /** whether NOTIFY wakes it */
  woken: boolean
  /** One round. `signal`: the server stops. */
  round(core: Core, signal: AbortSignal): Promise<void>
}

const JOBS: readonly Job[] = [
  { name: 'deliveries', every: 5, woken: true, round: handleDeliveries },
  { name: 'commit statuses', every: 5, woken: true, round: reportStatuses },
  { name: 'purge of deliveries', every: 3600, woken: false, round: purgeDeliveries },
]

/** ms between two rounds of a job: what comes meanwhile is done together. */
const PAUSE = 250

export interface GitProviderJobs {
  /** There may be something to do. */
  wake(): void
  /** Resolves when the rounds under way are over. */
  stop(): Promise<void>
}

export function startGitProviderJobs(core: Core): GitProviderJobs {
  const bell = createWakeup()
  const abort = new AbortController()
  const done = Promise.all(JOBS.map(run))
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
        core.log.error({ err: error, job: name }, 'a job of the git provider failed; it comes again')
      }
      await sleep(PAUSE, abort.signal)
      await (woken ? bell.wait(null, seen, every * 1000) : sleep(every * 1000, abort.signal))
    }
  }
}
