/** After a push: the deployments that build on push get a revision of the commit that the branch points to now. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { type Core, type Tx, transaction } from '../context.ts'
import type { GitProvider } from '../integrations/provider.ts'
import { toBuild } from '../revisions/base.ts'
import { rollOut } from '../revisions/rollout.ts'
import { type Delivery, type Group, holds } from './lease.ts'

/** Returns what says of a delivery whether the answer agrees with it. Throws ProviderUnavailableError. */
export async function followBranch(
  core: Core,
  provider: GitProvider,
  group: Group,
  signal: AbortSignal,
): Promise<(delivery: Delivery) => boolean> {
  const repository = group.repository!
  const branch = group.branch!
  const found = await core.db.deployment.findMany({
    where: followers(group),
    select: { id: true, repoUrl: true },
    orderBy: { id: 'asc' },
  })
  const ids = found
    .filter(({ repoUrl }) => provider.repositoryOf(repoUrl!)?.toLowerCase() === repository.toLowerCase())
    .map(({ id }) => id)
  if (ids.length === 0) return () => true
  const head = await provider.branchHead(group.installationId, repository, branch, signal)
  if (head === null) return () => true
  const failures: unknown[] = []
  for (const id of ids) {
    try {
      await transaction(core, (tx) => moveTo(core, tx, group, id, head))
    } catch (error) {
      core.log.error({ err: error, deploymentId: id }, 'a push could not be rolled out to a deployment')
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return (delivery) => delivery.after === head
}

/** Whose branch this is, as far as the database can tell. */
function followers({ installationId, branch }: Group): Prisma.DeploymentWhereInput {
  return {
    source: 'gitprovider',
    buildOnPush: true,
    deletedAt: null,
    integration: { kind: 'app', installationId, removedAt: null, suspendedAt: null },
    latestRevision: { repoRef: branch },
  }
}

/** The newest of those that have not taken their source over from another. */
const OWN_SOURCE = {
  where: { basedOnId: null },
  orderBy: { number: 'desc' },
  take: 1,
  select: { repoCommitSha: true },
} as const satisfies Prisma.RevisionFindManyArgs

/** Nothing, if the newest source was of this commit already: each is rolled out once, and a rollback stays one. */
async function moveTo(core: Core, tx: Tx, group: Group, id: string, head: string): Promise<void> {
  await tx.sql.$queryRaw`SELECT 1 FROM deployments WHERE id = ${id}::uuid FOR NO KEY UPDATE`
  // what was true before the lock may not be so any more
  const row = await tx.sql.deployment.findFirst({
    where: { id, ...followers(group) },
    include: { latestRevision: true, revisions: OWN_SOURCE },
  })
  if (!row || !(await holds(tx.sql, group))) return
  const { latestRevision, revisions, ...deployment } = row
  if ([latestRevision, ...revisions].some((revision) => revision!.repoCommitSha === head)) return
  const { repoRef, graphConfigPath, imageUri, sourceTarballPath } = latestRevision!
  const source = {
    ...toBuild(deployment),
    ...{ repoRef, graphConfigPath, imageUri, sourceTarballPath, repoCommitSha: head },
  }
  const why = `Commit ${head} was pushed to ${group.branch}.`
  await rollOut({ ...core, actor: { subject: null } }, tx, deployment, source, why)
}
