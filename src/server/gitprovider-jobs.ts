/** What a server does with the git provider without being asked. NOTIFY wakes its jobs; each also looks by itself now and then. */
import type { Core } from '../domain/context.ts'
import { handleDeliveries } from '../domain/pushes/handle.ts'
import { purgeDeliveries } from '../domain/pushes/purge.ts'
import { reportStatuses } from '../domain/pushes/report-statuses.ts'
import { type Job, type Jobs, startJobs } from './jobs.ts'

const JOBS: readonly Job[] = [
  { name: 'deliveries', every: 5, woken: true, round: handleDeliveries },
  { name: 'commit statuses', every: 5, woken: true, round: reportStatuses },
  { name: 'purge of deliveries', every: 3600, woken: false, round: purgeDeliveries },
]

export function startGitProviderJobs(core: Core): Jobs {
  return startJobs(core, 'the git provider', JOBS)
}
