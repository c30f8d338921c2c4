/** Reads the deployment and revision that a write returns (docs/api-rules.md#errors). */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { filled, type Known, simple } from '../query-engine/one-row.ts'
import { selectWrittenRevision } from '../revisions/read.ts'
import type { Tx } from '../transaction/context.ts'
import type { Selection, Written } from '../transaction/once.ts'
import type { Stored } from '../transaction/unit-of-work.ts'
import { selectWritten } from './read.ts'
import { type DeploymentView, VIEW_FIELDS } from './rest-view.ts'

/**
 * For REST: the deployment after the write, and the revision that it made or changed. Usually without a statement: the
 * writing statement returned the rows, and the rest was read under the lock.
 */
export async function readWritten(
  tx: Tx,
  { deploymentId, revisionId }: Written,
): Promise<{ deployment: DeploymentView; revisionId: string | null }> {
  const known = knownDeployment(tx, await tx.unit.stored(), deploymentId)
  if (known?.latestRevision && known.activeRevision !== undefined && known.secretSet !== undefined)
    return { deployment: known as unknown as DeploymentView, revisionId }
  const read = selectWritten(tx, deploymentId, { select: VIEW_FIELDS })
  return { deployment: (await read) as unknown as DeploymentView, revisionId }
}

/** Null: the last statement did not write it. Includes only relations that were read. */
function knownDeployment(tx: Tx, stored: Stored, id: string): Known | null {
  const row = stored.deployment.get(id)
  if (!row) return null
  const aggregate = tx.unit.known.get(id)
  const revision = (which: string | null) =>
    which && (stored.revision.get(which) ?? aggregate?.revisions.find((one) => one.id === which))
  const shown = aggregate?.hasSecretsAndIntegration && {
    secretSet: aggregate.secretSet,
    listener: aggregate.listener,
    integration: aggregate.integration,
  }
  return {
    ...row,
    latestRevision: revision(row.latestRevisionId),
    activeRevision: revision(row.activeRevisionId),
    ...shown,
  }
}

/** For GraphQL: the selected fields; null: nothing is selected. */
export interface WrittenSelection {
  workspaceId: string
  deployment: Selection | null
  revision: Selection | null
}

/** Like readWritten(), with the selected fields. The revision is null if the write made or changed none. */
export async function readSelected(
  tx: Tx,
  { deploymentId, revisionId }: Written,
  { workspaceId, ...selected }: WrittenSelection,
): Promise<{ deployment: Deployment | null; revision: Revision | null }> {
  const stored = await tx.unit.stored()
  const deployment = knownDeployment(tx, stored, deploymentId)
  const one = async <Row>(
    table: 'Deployment' | 'Revision',
    id: string,
    query: Selection,
    known: Known | null,
    ask: (tx: Tx, id: string, query: Selection) => Promise<Row>,
  ): Promise<Row> => {
    const select = simple(table, query)
    const row = select && (await filled(tx, { table, id, workspaceId }, select, known))
    return row ? (row as Row) : ask(tx, id, query)
  }
  const revision = revisionId === null ? undefined : stored.revision.get(revisionId)
  return {
    deployment:
      selected.deployment && (await one('Deployment', deploymentId, selected.deployment, deployment, selectWritten)),
    revision:
      selected.revision && revisionId !== null
        ? await one(
            'Revision',
            revisionId,
            selected.revision,
            revision ? { ...revision, deployment: deployment ?? undefined } : null,
            selectWrittenRevision,
          )
        : null,
  }
}
