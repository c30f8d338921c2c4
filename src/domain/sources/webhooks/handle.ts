/** Handles webhook deliveries: pushes and changed installations. A delivery is only a hint, the provider's response decides. */
import type { Prisma } from '../../../generated/prisma/client.ts'
import { type GitProvider, ProviderUnavailableError } from '../../ports/git-provider.ts'
import { lockThenRead } from '../../repositories/locks.ts'
import { rollOut, toBuild } from '../../rollouts/rollout.ts'
import { type Core, type ReadCore, type Tx, transaction, type WriteCore } from '../../transaction/context.ts'
import { GIT_PROVIDER } from '../../values/event-types.ts'
import { revisionColumns } from '../../values/revision-source.ts'
import {
  type Delivery,
  type DeliveryGroup,
  finishDeliveries,
  leaseGroup,
  lockLease,
  postponeDeliveries,
  releaseDeliveries,
  startOfRound,
} from './delivery-queue.ts'

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

async function retryLater(core: ReadCore, group: DeliveryGroup, error: unknown): Promise<void> {
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

/** Returns whether the provider's response agrees with a delivery. Throws ProviderUnavailableError. */
async function rollOutPush(
  core: Core,
  provider: GitProvider,
  group: DeliveryGroup,
  signal: AbortSignal,
): Promise<(delivery: Delivery) => boolean> {
  const repository = group.repository!
  const branch = group.branch!
  const found = await core.db.deployment.findMany({
    where: whereBuildsOnPush(group),
    select: { id: true, repoUrl: true, repositoryId: true },
    orderBy: { id: 'asc' },
  })
  const ids = found
    // also by id, because `repo_url` keeps the name from before a rename
    .filter(
      ({ repoUrl, repositoryId }) =>
        (repositoryId !== null && repositoryId === group.repositoryId) ||
        provider.repositoryOf(repoUrl!)?.toLowerCase() === repository.toLowerCase(),
    )
    .map(({ id }) => id)
  if (ids.length === 0) return () => true
  const head = await provider.branchHead(group.installationId, repository, branch, signal)
  if (head === null) return () => true
  const failures: unknown[] = []
  for (const id of ids) {
    try {
      await transaction(core, (tx) => rollOutCommit(core, tx, group, id, head))
    } catch (error) {
      core.log.error({ err: error, deploymentId: id }, 'a push could not be rolled out to a deployment')
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return (delivery) => delivery.after === head
}

/**
 * Deployments that build this branch of any repository of the installation. The provider's client compares
 * repositories.
 */
function whereBuildsOnPush({ installationId, branch }: DeliveryGroup): Prisma.DeploymentWhereInput {
  return {
    source: 'gitprovider',
    buildOnPush: true,
    deletedAt: null,
    integration: { kind: 'app', installationId, removedAt: null, suspendedAt: null },
    latestRevision: { repoRef: branch },
  }
}

/** The newest revision that does not copy the source of another one. */
const NEWEST_SOURCE = {
  where: { basedOnId: null },
  orderBy: { number: 'desc' },
  take: 1,
  select: { repoCommitSha: true },
} as const satisfies Prisma.RevisionFindManyArgs

/** Does nothing if this commit is already the newest source, so a rollback is not undone. */
async function rollOutCommit(core: Core, tx: Tx, group: DeliveryGroup, id: string, head: string): Promise<void> {
  const where = { id, ...whereBuildsOnPush(group) }
  const row = await lockThenRead(tx, id, () =>
    tx.sql.deployment.findFirst({ where, include: { latestRevision: true, revisions: NEWEST_SOURCE } }),
  )
  if (!row || !(await lockLease(tx.sql, group))) return
  const { latestRevision, revisions, ...deployment } = row
  if ([latestRevision, ...revisions].some((revision) => revision!.repoCommitSha === head)) return
  const { commitMessage = null, commitAuthor = null } = group.deliveries.find(({ after }) => after === head) ?? {}
  const commit = { repoCommitSha: head, commitMessage, commitAuthor }
  const source = { ...revisionColumns(null, latestRevision!), ...toBuild(deployment), ...commit }
  const why = `Commit ${head} was pushed to ${group.branch}.`
  const actor = { kind: 'git_provider', subject: null, name: null } as const
  await rollOut({ ...core, actor }, tx, deployment, source, { trigger: 'push', change: { what: 'PUSHED' }, why })
}

/** The state after an action. Other actions change no stored state. */
const STATE_AFTER: Record<string, InstallationState> = { deleted: 'removed', suspend: 'suspended', unsuspend: 'active' }

type InstallationState = 'removed' | 'suspended' | 'active'

/** Returns whether the provider's response agrees with a delivery. Throws ProviderUnavailableError. */
async function syncInstallation(
  core: WriteCore,
  provider: GitProvider,
  group: DeliveryGroup,
  signal: AbortSignal,
): Promise<(delivery: Delivery) => boolean> {
  const where = { installationId: group.installationId, removedAt: null }
  const found = await core.db.integration.findMany({ where, orderBy: { id: 'asc' } })
  if (found.length === 0) return () => true
  const installation = await provider.installation(group.installationId, signal)
  const state = !installation ? 'removed' : installation.suspended ? 'suspended' : 'active'
  for (const { id, workspaceId } of found) {
    await transaction(core, async (tx) => {
      if (!(await lockLease(tx.sql, group))) return
      const { count } = await tx.sql.integration.updateMany({
        where: { id, removedAt: null, ...IS_CHANGE[state] },
        data: state === 'removed' ? { removedAt: tx.now() } : { suspendedAt: state === 'suspended' ? tx.now() : null },
      })
      if (count > 0) tx.emit({ workspaceId, type: EVENT[state], subjectId: id, actor: GIT_PROVIDER })
    })
  }
  return ({ action }) => STATE_AFTER[action ?? ''] === undefined || STATE_AFTER[action ?? ''] === state
}

/** Integrations that a state changes; only those are written and get an event. */
const IS_CHANGE = { removed: {}, suspended: { suspendedAt: null }, active: { suspendedAt: { not: null } } } as const

const EVENT = {
  removed: 'integration.removed',
  suspended: 'integration.suspended',
  active: 'integration.unsuspended',
} as const
