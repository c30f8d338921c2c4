/**
 * Does what the webhook hinted at: one look at the provider for all deliveries about the same thing, and then what
 * follows from it. While the provider is away they wait, for a day at most.
 */
import type { Core } from '../context.ts'
import { type GitProvider, ProviderUnavailableError } from '../integrations/provider.ts'
import { followBranch } from './follow-branch.ts'
import { followInstallation } from './follow-installation.ts'
import { type Delivery, finish, type Group, giveBack, leaseGroup, postpone, roundBegins } from './lease.ts'

/** So many things are looked at at once: one slow answer holds up only itself. */
const AT_ONCE = 4

/** One round: what is due now. Safe on several servers at once. Once `signal` aborts it gives back what it has begun. */
export async function handleDeliveries(core: Core, signal: AbortSignal): Promise<void> {
  const provider = core.gitProvider
  if (!provider) return
  const until = await roundBegins(core)
  if (!until) return
  const work = async () => {
    for (;;) {
      const group = signal.aborted ? null : await leaseGroup(core, until)
      if (!group) return
      await handle(core, provider, group, signal)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
}

async function handle(core: Core, provider: GitProvider, group: Group, signal: AbortSignal): Promise<void> {
  try {
    const follow = group.event === 'push' ? followBranch : followInstallation
    const agrees = await follow(core, provider, group, signal)
    // an answer that does not agree with the delivery may be an old one: it is worth one more look
    const doubtful = (delivery: Delivery) => delivery.tries === 1 && !agrees(delivery)
    await finish(
      core,
      group.deliveries.filter((delivery) => !doubtful(delivery)),
    )
    await postpone(core, group.deliveries.filter(doubtful))
  } catch (error) {
    if (signal.aborted) return giveBack(core, group.deliveries)
    await failed(core, group, error)
  }
}

async function failed(core: Core, group: Group, error: unknown): Promise<void> {
  const { event, installationId, repository, branch } = group
  const about = { event, installationId, repository, branch }
  const givenUp = await postpone(core, group.deliveries)
  if (givenUp > 0)
    core.log.error(
      { ...about, err: error, deliveries: givenUp },
      'gave up on deliveries of the git provider after a day',
    )
  else if (error instanceof ProviderUnavailableError)
    core.log.warn({ ...about, error: error.message }, 'the git provider can’t be asked about a delivery; later again')
  else core.log.error({ ...about, err: error }, 'could not handle a delivery of the git provider; later again')
}
