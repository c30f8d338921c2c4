/** Root fields that can be compiled. Each runs one statement. */

import { readOne, readWindow } from '../../../domain/deployments/compiled-reads.ts'
import { type DeploymentFilter, parseFilter } from '../../../domain/deployments/filter.ts'
import { type DeploymentOrder, deploymentCursor } from '../../../domain/deployments/order.ts'
import { readListener, readListeners } from '../../../domain/listeners/read.ts'
import { newestCursor, type Window } from '../../../domain/paging/paging.ts'
import type { Model } from '../../../domain/query-engine/rows.ts'
import { type Raw, RowSelection } from '../../../domain/query-engine/rows.ts'
import { PlannedRead, versionOf } from '../../../domain/query-engine/statement.ts'
import { readOneRevision } from '../../../domain/revisions/compiled-reads.ts'
import { readTags } from '../../../domain/tags.ts'
import { toSnake } from '../builder/naming.ts'
import { argumentReader, type Compilation, NotCompilable, objectType, type SelectedField } from './compilation.ts'
import { connectionWriter } from './connection-writer.ts'
import { nodeWriter, rowWriter } from './object-writer.ts'
import type { Execution } from './value-writers.ts'

/** Reads one root field as JSON. Throws errors that Pothos then presents. */
export type RootReader = (execution: Execution) => Promise<string>

/** With more joins Postgres spends more time on planning than one statement saves. */
const MAX_JOINS = 12

function plannedRead(rows: RowSelection): PlannedRead {
  if (rows.joins > MAX_JOINS || !rows.fits) throw new NotCompilable()
  return new PlannedRead(rows)
}

interface ListArguments extends Window {
  filter?: object | null
  orderBy?: { field: DeploymentOrder['by']; direction: DeploymentOrder['direction'] } | null
}

const NEWEST_FIRST: DeploymentOrder = { by: 'CREATED_AT', direction: 'desc' }
const NO_FILTER: DeploymentFilter = parseFilter({})
type Sorted = Parameters<typeof deploymentCursor>[1]

function deploymentsField(compilation: Compilation, selected: SelectedField): RootReader {
  const args = argumentReader<ListArguments>(selected)
  const rows = new RowSelection('Deployment')
  const sorted = rows.root.reader({ id: true, attention: true, createdAt: true, updatedAt: true, name: true })
  let counts = false
  const write = connectionWriter(compilation, selected, nodeWriter(compilation, rows.root), () => {
    counts = true
  })
  const selection = plannedRead(rows)
  return async (execution) => {
    const { ctx, variables } = execution
    const { filter: given, orderBy, ...window } = args(variables)
    const filter = given ? parseFilter(toSnake(given)) : NO_FILTER
    const order = orderBy ? { by: orderBy.field, direction: orderBy.direction } : NEWEST_FIRST
    // time alone may change which rows match these filters
    if (filter.status !== undefined || filter.serving !== undefined) execution.expiresAtMs = execution.now.getTime()
    const slice = await readWindow(ctx, { selection, variables }, window, filter, order, counts)
    execution.versions.push(versionOf(slice.rows))
    const cursorOf = (row: Raw) => deploymentCursor(order, sorted(row) as unknown as Sorted)
    return write({ slice, window, cursorOf, total: slice.total }, execution)
  }
}

/** A list of `table`, newest first. */
const listField =
  (table: Model, read: typeof readTags) =>
  (compilation: Compilation, selected: SelectedField): RootReader => {
    const args = argumentReader<Window>(selected)
    const rows = new RowSelection(table)
    const sorted = rows.root.reader({ id: true, createdAt: true })
    let counts = false
    const write = connectionWriter(compilation, selected, nodeWriter(compilation, rows.root), () => {
      counts = true
    })
    const selection = plannedRead(rows)
    return async (execution) => {
      const { ctx, variables } = execution
      const window = args(variables)
      const slice = await read(ctx, { selection, variables }, window, counts)
      if (counts && !slice.total) throw new NotCompilable()
      execution.versions.push(versionOf(slice.rows))
      const cursorOf = (row: Raw) => newestCursor(sorted(row) as unknown as Parameters<typeof newestCursor>[0])
      return write({ slice, window, cursorOf, total: slice.total }, execution)
    }
  }

type Read = (execution: Execution, selection: PlannedRead, id: string) => Promise<Raw>

/** A look-up by id. */
const lookupField =
  (table: Model, read: Read) =>
  (compilation: Compilation, selected: SelectedField): RootReader => {
    const args = argumentReader<{ id: string }>(selected)
    const rows = new RowSelection(table)
    const write = rowWriter(compilation, objectType(selected), rows.root, selected.below)
    const selection = plannedRead(rows)
    return async (execution) => {
      const row = await read(execution, selection, args(execution.variables).id)
      execution.versions.push(versionOf([row]))
      return write(row, execution)
    }
  }

export const ROOT_FIELDS: Readonly<Record<string, (compilation: Compilation, selected: SelectedField) => RootReader>> =
  {
    deployments: deploymentsField,
    deployment: lookupField('Deployment', ({ ctx, variables }, selection, id) =>
      readOne(ctx, { selection, variables }, { path: { deployment_id: id } }),
    ),
    listeners: listField('Listener', readListeners),
    listener: lookupField('Listener', ({ ctx, variables }, selection, id) =>
      readListener(ctx, { selection, variables }, { path: { listener_id: id } }),
    ),
    tags: listField('Tag', readTags),
    revision: lookupField('Revision', ({ ctx, variables }, selection, id) =>
      readOneRevision(ctx, selection, variables, { path: { revision_id: id } }),
    ),
  }
