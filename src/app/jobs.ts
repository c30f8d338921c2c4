/** Periodic jobs of a server. A round without work costs one statement. */
import { evaluateAlerts } from '../domain/alerts/evaluate.ts'
import { announceChanges } from '../domain/change-feed/announce.ts'
import { announceClockChanges } from '../domain/change-feed/clock.ts'
import { silentBefore } from '../domain/deployment-status/status.ts'
import { createBlockWriter } from '../domain/logs/blocks.ts'
import { rollUpMetrics } from '../domain/metrics/roll-up.ts'
import { refreshExpiring } from '../domain/oauth/tokens/refresh.ts'
import { revokeDue } from '../domain/oauth/tokens/revoke.ts'
import { createRetention } from '../domain/retain.ts'
import { removeImages } from '../domain/rollouts/image-removals.ts'
import { sweep } from '../domain/rollouts/sweep.ts'
import { reportStatuses } from '../domain/sources/commit-statuses.ts'
import { removeUploads } from '../domain/sources/uploads.ts'
import { purgeDeliveries } from '../domain/sources/webhooks/delivery-queue.ts'
import { handleDeliveries } from '../domain/sources/webhooks/handle.ts'
import type { Core, WriteCore } from '../domain/transaction/context.ts'
import type { Job } from '../platform/async/jobs.ts'
import { removeImagesBut } from './image-store.ts'

const IMAGES_SECONDS = 60
/** Uploads are kept for more than a day, so their removal is not urgent. */
const UPLOAD_SECONDS = 300
/** Short enough that a fast-growing log hardly exceeds its limit. */
const RETENTION_SECONDS = 60
/** Samples are rolled up each hour. A round continues a long walk. */
const ROLL_UP_SECONDS = 30
/** A search reads newer lines one by one. */
const LOG_BLOCKS_SECONDS = 10
/** Tokens are refreshed minutes before they expire; an earlier user refreshes them itself. */
const REFRESH_SECONDS = 30

/** Samples of series are 10 s long. */
const ALERT_SECONDS = 15

/** `seconds`: SWEEP_SECONDS */
export function jobsOf(core: Core, seconds: number): Job[] {
  return [
    { name: 'sweep', intervalSeconds: seconds, round: () => countedSweep(core) },
    { name: 'removal of uploads', intervalSeconds: UPLOAD_SECONDS, round: () => removeUploads(core) },
    { name: 'roll-up of metrics', intervalSeconds: ROLL_UP_SECONDS, round: (signal) => rollUpMetrics(core, signal) },
    { name: 'retention', intervalSeconds: RETENTION_SECONDS, round: createRetention(core) },
    { name: 'blocks of logs', intervalSeconds: LOG_BLOCKS_SECONDS, round: createBlockWriter(core) },
    { name: 'revocations', intervalSeconds: seconds, round: (signal) => revokeDue(core, signal) },
    { name: 'alerts', intervalSeconds: ALERT_SECONDS, round: () => evaluateAlerts(core) },
    ...imageJobsOf(core),
    {
      name: 'refreshes',
      intervalSeconds: Math.max(seconds, REFRESH_SECONDS),
      round: (signal) => refreshExpiring(core, signal),
    },
  ]
}

function imageJobsOf(core: Core): Job[] {
  const { registry } = core
  if (!registry) return []
  const empty = (repository: string, signal: AbortSignal) => removeImagesBut(registry, repository, [], signal)
  return [
    {
      name: 'removal of images',
      intervalSeconds: IMAGES_SECONDS,
      round: (signal) => removeImages(core, empty, signal),
    },
  ]
}

/** Announces visible changes of deployments: after commits, and by polling for changes without a notification. */
export function changeJobsOf(core: WriteCore): Job[] {
  return [
    { name: 'changes of deployments', intervalSeconds: 1, woken: true, round: () => announceChanges(core) },
    {
      name: 'what changes with time',
      intervalSeconds: 1,
      round: () => announceClockChanges(core, silentBefore(core.clock())),
    },
  ]
}

/** NOTIFY wakes the urgent ones; all of them also poll. */
export function gitProviderJobsOf(core: Core): Job[] {
  if (!core.gitProvider) return []
  return [
    { name: 'deliveries', intervalSeconds: 5, woken: true, round: (signal) => handleDeliveries(core, signal) },
    { name: 'commit statuses', intervalSeconds: 5, woken: true, round: (signal) => reportStatuses(core, signal) },
    { name: 'purge of deliveries', intervalSeconds: 3600, round: () => purgeDeliveries(core) },
  ]
}

/** Enforces deadlines and reports the duration to metrics. */
async function countedSweep(core: Core): Promise<void> {
  const began = performance.now()
  await sweep(core)
  core.observer?.swept((performance.now() - began) / 1000)
}
