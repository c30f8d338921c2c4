/** Which artifacts stay (contract 4): those of the last five revisions deployed, of the active one, and of what is in progress. */
import type { Deployment } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import { TERMINAL } from '../revisions/lifecycle.ts'

const KEPT = 5

/** Forgets the others: a redeploy of theirs builds again. Their holder removes what it has of them. */
export async function pruneArtifacts(tx: Tx, deployment: Deployment): Promise<void> {
  const newest = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, deployedAt: { not: null }, artifact: { not: null } },
    orderBy: { deployedAt: 'desc' },
    take: KEPT,
    select: { id: true },
  })
  const kept = [
    ...newest.map((revision) => revision.id),
    ...(deployment.activeRevisionId ? [deployment.activeRevisionId] : []),
  ]
  await tx.sql.revision.updateMany({
    where: { deploymentId: deployment.id, status: { in: [...TERMINAL] }, artifact: { not: null }, id: { notIn: kept } },
    data: { artifact: null },
  })
}
