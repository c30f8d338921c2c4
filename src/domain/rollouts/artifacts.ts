/**
 * What builds have made: revisions of one source share it. Which stay (docs/deployments.md#revisions-and-rollouts): those
 * of the last five revisions deployed, of the active one, and of what is in progress.
 */
import type { Tx } from '../context/context.ts'
import { TERMINAL } from '../model/lifecycle.ts'

const KEPT = 5

/** A build has succeeded. Those that wait with the same source, and are not even at their turn, need none of their own any more. */
export async function keepArtifact(tx: Tx, revisionId: string, artifact: string | null): Promise<void> {
  await tx.sql.$executeRaw`
    UPDATE revisions r SET artifact = ${artifact} FROM revisions b
    WHERE b.id = ${revisionId}::uuid AND r.deployment_id = b.deployment_id
      AND (r.id = b.id OR (r.based_on_id = coalesce(b.based_on_id, b.id) AND r.artifact IS NULL AND r.status IN ('CREATING', 'QUEUED')))`
}

/** Its holder has it no more: whichever revision has it is built again. */
export async function loseArtifact(tx: Tx, deploymentId: string, revisionId: string): Promise<void> {
  await tx.sql.$executeRaw`
    UPDATE revisions SET artifact = NULL WHERE deployment_id = ${deploymentId}::uuid
      AND artifact = (SELECT artifact FROM revisions WHERE id = ${revisionId}::uuid)`
}

/**
 * After a deploy, so that the active one is the newest. Forgets the others: a redeploy of theirs builds again, and their
 * holder removes what it has of them. Five different ones are kept, so that many changes of secrets alone leave the way
 * back open.
 */
export async function pruneArtifacts(tx: Tx, deploymentId: string): Promise<void> {
  const newest = await tx.sql.revision.groupBy({
    by: ['artifact'],
    where: { deploymentId, deployedAt: { not: null }, artifact: { not: null } },
    orderBy: { _max: { deployedAt: 'desc' } },
    take: KEPT,
  })
  await tx.sql.revision.updateMany({
    where: {
      deploymentId,
      status: { in: [...TERMINAL] },
      artifact: { not: null, notIn: newest.map(({ artifact }) => artifact!) },
    },
    data: { artifact: null },
  })
}
