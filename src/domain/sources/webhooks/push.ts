/** Handles pushes: deployments that build on push get a revision of the branch's current commit. */
import type { Prisma } from '../../../generated/prisma/client.ts'
import type { GitProvider } from '../../ports/git-provider.ts'
import { lockThenRead } from '../../repositories/locks.ts'
import { toBuild } from '../../rollouts/base-revision.ts'
import { rollOut } from '../../rollouts/rollout.ts'
import { type Core, type Tx, transaction } from '../../transaction/context.ts'
import { revisionColumns } from '../../values/revision-source.ts'
import { type Delivery, type DeliveryGroup, lockLease } from './delivery-queue.ts'

/** Returns whether the provider's response agrees with a delivery. Throws ProviderUnavailableError. */
export async function rollOutPush(
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
