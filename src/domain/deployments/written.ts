/** What REST shows of a deployment after a write (docs/api-rules.md#errors). */
import type { Tx } from '../context/context.ts'
import type { Written } from '../context/read-back.ts'
import { selectWritten } from './read.ts'
import { type DeploymentView, SHOWN } from './view.ts'

/**
 * The deployment as the call left it, with the revision that the call made or changed. Mostly no statement of its own: the
 * rows come back from the one that wrote them, and what else is shown was read under the lock.
 */
export async function readWritten(
  tx: Tx,
  { deploymentId, revisionId }: Written,
): Promise<{ deployment: DeploymentView; revisionId: string | null }> {
  const stored = await tx.unit.stored()
  const facts = tx.unit.known.get(deploymentId)
  const row = stored.deployment.get(deploymentId)
  const latestId = row?.latestRevisionId
  const latestRevision =
    latestId && (stored.revision.get(latestId) ?? facts?.revisions.find(({ id }) => id === latestId))
  if (row && latestRevision && facts?.shown) {
    const { secretSet, listener, integration } = facts
    return { deployment: { ...row, latestRevision, secretSet, listener, integration }, revisionId }
  }
  const read = selectWritten(tx, deploymentId, { select: SHOWN })
  return { deployment: (await read) as unknown as DeploymentView, revisionId }
}
