/** Handles webhook deliveries. A delivery is only a hint: the provider's response decides (../README.md). */

import { type GitProvider, ProviderUnavailableError } from '../../ports/git-provider.ts'
import type { Core } from '../../transaction/context.ts'
import {
  type Delivery,
  type DeliveryGroup,
  finishDeliveries,
  leaseGroup,
  postponeDeliveries,
  releaseDeliveries,
  startOfRound,
} from './delivery-queue.ts'
import { rollOutPush } from './push.ts'
import { syncInstallation } from './sync-installation.ts'

const CONCURRENCY = 4

/** Runs one round: all due deliveries. Safe on several servers. Releases its leases when `signal` aborts. */
export async function handleDeliveries(core: Core, signal: AbortSignal): Promise<void> {
  const provider = core.gitProvider
  if (!provider) return
  const until = await startOfRound(core)
  if (!until) return
  const work = async () => {
    for (;;) {
      const group = signal.aborted ? null : await leaseGroup(core, until)
      if (!group) return
      await handle(core, provider, group, signal)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

async function handle(core: Core, provider: GitProvider, group: DeliveryGroup, signal: AbortSignal): Promise<void> {
  try {
    const handler = group.event === 'push' ? rollOutPush : syncInstallation
    const agrees = await handler(core, provider, group, signal)
    // a response that contradicts the delivery may be stale: ask once more
    const doubtful = (delivery: Delivery) => delivery.tries === 1 && !agrees(delivery)
    await finishDeliveries(
      core,
      group.deliveries.filter((delivery) => !doubtful(delivery)),
    )
    await postponeDeliveries(core, group.deliveries.filter(doubtful))
  } catch (error) {
    if (signal.aborted) return releaseDeliveries(core, group.deliveries)
    await retryLater(core, group, error)
  }
}

async function retryLater(core: Core, group: DeliveryGroup, error: unknown): Promise<void> {
  const { event, installationId, repository, branch } = group
  const about = { event, installationId, repository, branch }
  const givenUp = await postponeDeliveries(core, group.deliveries)
  if (givenUp > 0)
    core.log.error(
      { ...about, err: error, deliveries: givenUp },
      'gave up on deliveries of the git provider after a day',
    )
  else if (error instanceof ProviderUnavailableError)
    core.log.warn({ ...about, error: error.message }, 'the git provider is unavailable, so a delivery is retried later')
  else core.log.error({ ...about, err: error }, 'could not handle a delivery of the git provider; it is retried later')
}
