/** What a server does now and then without being asked. A round that finds nothing to do is one statement. */
import { announceChanges } from '../domain/change-feed/announce.ts'
import { tellOfTheClock } from '../domain/change-feed/clock.ts'
import { refreshExpiring } from '../domain/oauth/tokens/refresh-expiring.ts'
import { revokeDue } from '../domain/oauth/tokens/revoke.ts'
import { createRetention } from '../domain/retention/retain.ts'
import { removeImages } from '../domain/rollouts/image-removals.ts'
import { sweep } from '../domain/rollouts/sweep.ts'
import { reportStatuses } from '../domain/sources/commit-statuses/report.ts'
import { removeUploads } from '../domain/sources/uploads/remove.ts'
import { purgeDeliveries } from '../domain/sources/webhooks/delivery-queue.ts'
import { handleDeliveries } from '../domain/sources/webhooks/handle.ts'
import type { Core } from '../domain/transaction/context.ts'
import type { Job } from '../platform/async/jobs.ts'
import { removeImagesBut } from './image-store.ts'

/** Nobody waits for these either. */
const IMAGES_SECONDS = 60
/** Uploads are kept for a day and more: nobody waits for their removal. */
const UPLOAD_SECONDS = 300
/** A log that grows as fast as it may is hardly longer than it should be meanwhile. */
const RETENTION_SECONDS = 60
/** Tokens are refreshed minutes ahead, and whoever needs one earlier does it. */
const REFRESH_SECONDS = 30

/** `seconds`: SWEEP_SECONDS. */
export function jobsOf(core: Core, seconds: number): Job[] {
  return [
    { name: 'sweep', intervalSeconds: seconds, round: () => countedSweep(core) },
    { name: 'removal of uploads', intervalSeconds: UPLOAD_SECONDS, round: () => removeUploads(core) },
    { name: 'retention', intervalSeconds: RETENTION_SECONDS, round: createRetention(core) },
    { name: 'revocations', intervalSeconds: seconds, round: (signal) => revokeDue(core, signal) },
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

/** Tells what shows of deployments: woken by what was committed, and by itself for what nobody is woken of. */
export function changeJobsOf(core: Core): Job[] {
  return [
    { name: 'changes of deployments', intervalSeconds: 1, woken: true, round: () => announceChanges(core) },
    { name: 'what changes with time', intervalSeconds: 1, round: () => tellOfTheClock(core) },
  ]
}

/** NOTIFY wakes those of them that somebody waits for; each also looks by itself now and then. */
export function gitProviderJobsOf(core: Core): Job[] {
  if (!core.gitProvider) return []
  return [
    { name: 'deliveries', intervalSeconds: 5, woken: true, round: (signal) => handleDeliveries(core, signal) },
    { name: 'commit statuses', intervalSeconds: 5, woken: true, round: (signal) => reportStatuses(core, signal) },
    { name: 'purge of deliveries', intervalSeconds: 3600, round: () => purgeDeliveries(core) },
  ]
}

/** Enforces the deadlines; its rounds are counted. */
async function countedSweep(core: Core): Promise<void> {
  const began = performance.now()
  await sweep(core)
  core.observer?.swept((performance.now() - began) / 1000)
}
