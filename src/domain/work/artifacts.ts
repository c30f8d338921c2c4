/**
 * What builds have made: revisions of one source share it. Which stay (contract 4): those of the last five revisions
 * deployed, of the active one, and of what is in progress.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import { TERMINAL } from '../revisions/lifecycle.ts'

const KEPT = 5

/** Not even at their turn, while another one is being built. */
const UNBEGUN = ['CREATING', 'QUEUED'] as const

/** A build has succeeded. Those that wait with the same source need none of their own any more. */
export async function keepArtifact(tx: Tx, revision: Revision, artifact: string | null): Promise<void> {
  const { id, deploymentId } = revision
  const sharing = { basedOnId: revision.basedOnId ?? id, artifact: null, status: { in: [...UNBEGUN] } }
  await tx.sql.revision.updateMany({ where: { deploymentId, OR: [{ id }, sharing] }, data: { artifact } })
}

/** Its holder has it no more: whichever revision has it is built again. */
export async function loseArtifact(tx: Tx, deployment: Deployment, revisionId: string): Promise<void> {
  await tx.sql.$executeRaw`
    UPDATE revisions SET artifact = NULL WHERE deployment_id = ${deployment.id}::uuid
      AND artifact = (SELECT artifact FROM revisions WHERE id = ${revisionId}::uuid)`
}

/**
 * After a deploy, so that the active one is the newest. Forgets the others: a redeploy of theirs builds again, and their
 * holder removes what it has of them. Five different ones are kept, so that many changes of secrets alone leave the way
 * back open.
 */
export async function pruneArtifacts(tx: Tx, deployment: Deployment): Promise<void> {
  const newest = await tx.sql.revision.groupBy({
    by: ['artifact'],
    where: { deploymentId: deployment.id, deployedAt: { not: null }, artifact: { not: null } },
    orderBy: { _max: { deployedAt: 'desc' } },
    take: KEPT,
  })
  await tx.sql.revision.updateMany({
    where: {
      deploymentId: deployment.id,
      status: { in: [...TERMINAL] },
      artifact: { not: null, notIn: newest.map(({ artifact }) => artifact!) },
    },
    data: { artifact: null },
  })
}
