/** Reads the deployment and revision that a write returns (docs/api-rules.md#errors). */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import { type Model, TABLES } from '../../generated/tables.ts'
import { readById } from '../query-engine/reading.ts'
import type { Selection } from '../query-engine/rows.ts'
import type { Tx } from '../transaction/context.ts'
import type { Written } from '../transaction/once.ts'
import type { Stored } from '../transaction/unit-of-work.ts'
import { type DeploymentView, VIEW_FIELDS } from './rest-view.ts'

/** A row in Prisma's shape. It contains only the relations that are known. */
interface Known {
  readonly [field: string]: unknown
}

/**
 * For REST: the deployment after the write, and the revision that it made or changed. Usually without a statement: the
 * writing statement returned the rows, and the rest was read under the lock.
 */
export async function readWritten(
  tx: Tx,
  written: Written,
): Promise<{ deployment: DeploymentView; revisionId: string | null }> {
  const { deployment } = await readSelected(tx, written, { deployment: { select: VIEW_FIELDS }, revision: null })
  return { deployment: deployment as unknown as DeploymentView, revisionId: written.revisionId }
}

/** For REST: the revision that the write made or changed. */
export async function readWrittenRevision(tx: Tx, written: Written): Promise<Revision> {
  return (await readSelected(tx, written, { deployment: null, revision: {} })).revision!
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
  deployment: Selection | null
  revision: Selection | null
}

/** Like readWritten(), with the selected fields. The revision is null if the write made or changed none. */
export async function readSelected(
  tx: Tx,
  { deploymentId, revisionId }: Written,
  selected: WrittenSelection,
): Promise<{ deployment: Deployment | null; revision: Revision | null }> {
  const stored = await tx.unit.stored()
  const deployment = knownDeployment(tx, stored, deploymentId)
  const revision = revisionId === null ? undefined : stored.revision.get(revisionId)
  const knownRevision = revision && { ...revision, deployment: deployment ?? undefined }
  const one = async <Row>(table: 'Deployment' | 'Revision', id: string, selection: Selection, known: Known | null) =>
    (fromKnown(table, selection, known) ?? (await readById(tx, table, id, selection))) as Row
  return {
    deployment:
      selected.deployment && (await one<Deployment>('Deployment', deploymentId, selected.deployment, deployment)),
    revision:
      selected.revision && revisionId !== null
        ? await one<Revision>('Revision', revisionId, selected.revision, knownRevision ?? null)
        : null,
  }
}

/** The selected parts of a row, from known values. Null: some of them are not known. */
function fromKnown(table: Model, { select, include }: Selection, known: Known | null | undefined): Known | null {
  if (!known) return null
  const { columns, relations } = TABLES[table]
  const found: Record<string, unknown> = {}
  for (const [name, what] of Object.entries(select ?? { ...columns, ...include })) {
    if (!what) continue
    const [related, foreignKey] = relations[name] ?? []
    let value: unknown = name in columns ? known[name] : undefined
    if (related && foreignKey)
      value =
        known[foreignKey] === null
          ? null
          : (fromKnown(related, what === true ? {} : (what as Selection), known[name] as Known | null) ?? undefined)
    if (value === undefined) return null
    found[name] = value
  }
  return found
}
