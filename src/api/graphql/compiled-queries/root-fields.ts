/** The hot fields of a query: each is one statement. */

import { type DeploymentFilter, parseFilter } from '../../../domain/deployments/filter.ts'
import { readOne, readWindow } from '../../../domain/deployments/hot.ts'
import { type DeploymentOrder, deploymentCursor } from '../../../domain/deployments/order.ts'
import { readListener, readListeners } from '../../../domain/listeners/hot.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import { type Raw, Rows } from '../../../domain/query-engine/rows.ts'
import { PlannedRead, versionOf } from '../../../domain/query-engine/statement.ts'
import type { TableName } from '../../../domain/query-engine/tables.ts'
import { readOneRevision } from '../../../domain/revisions/hot.ts'
import { readTags } from '../../../domain/tags/hot.ts'
import { toSnake } from '../builder/naming.ts'
import { connection } from './connection-writer.ts'
import { nodeWriter, object } from './object-writer.ts'
import { argumentsOf, NotHot, objectType, type Scope, type Selected } from './compilation.ts'
import type { Answering } from './value-writers.ts'

/** The JSON of one field. Throws whatever Pothos is to present. */
export type Root = (answer: Answering) => Promise<string>

/** More tables and lists in one statement take Postgres more to plan than they save. */
const MOST_JOINS = 12

function selectionOf(rows: Rows): PlannedRead {
  if (rows.joins > MOST_JOINS || !rows.fits) throw new NotHot()
  return new PlannedRead(rows)
}

interface ListArguments extends Window {
  filter?: object | null
  orderBy?: { field: DeploymentOrder['by']; direction: DeploymentOrder['direction'] } | null
}

const NEWEST_FIRST: DeploymentOrder = { by: 'CREATED_AT', direction: 'desc' }
const NO_FILTER: DeploymentFilter = parseFilter({})
type Sorted = Parameters<typeof deploymentCursor>[1]

function deployments(scope: Scope, selected: Selected): Root {
  const args = argumentsOf<ListArguments>(selected)
  const rows = new Rows('Deployment')
  const sorted = rows.root.reader({ id: true, attention: true, createdAt: true, updatedAt: true, name: true })
  let counts = false
  const write = connection(scope, selected, nodeWriter(scope, rows.root), () => {
    counts = true
  })
  const selection = selectionOf(rows)
  return async (answer) => {
    const { ctx, variables } = answer
    const { filter: given, orderBy, ...window } = args(variables)
    const filter = given ? parseFilter(toSnake(given)) : NO_FILTER
    const order = orderBy ? { by: orderBy.field, direction: orderBy.direction } : NEWEST_FIRST
    // which rows there are changes with time, too
    if (filter.status !== undefined || filter.serving !== undefined) answer.until = answer.now.getTime()
    const slice = await readWindow(ctx, { selection, variables }, window, filter, order, counts)
    answer.versions.push(versionOf(slice.rows))
    const cursorOf = (row: Raw) => deploymentCursor(order, sorted(row) as unknown as Sorted)
    return write({ slice, window, cursorOf, total: slice.total }, answer)
  }
}

/** A list of `table` that is sorted by time of creation. */
const newest =
  (table: TableName, read: typeof readTags) =>
  (scope: Scope, selected: Selected): Root => {
    const args = argumentsOf<Window>(selected)
    const rows = new Rows(table)
    const sorted = rows.root.reader({ id: true, createdAt: true })
    let counts = false
    const write = connection(scope, selected, nodeWriter(scope, rows.root), () => {
      counts = true
    })
    const selection = selectionOf(rows)
    return async (answer) => {
      const { ctx, variables } = answer
      const window = args(variables)
      const slice = await read(ctx, { selection, variables }, window, counts)
      if (counts && !slice.total) throw new NotHot()
      answer.versions.push(versionOf(slice.rows))
      const cursorOf = (row: Raw) => newestCursor(sorted(row) as unknown as Parameters<typeof newestCursor>[0])
      return write({ slice, window, cursorOf, total: slice.total }, answer)
    }
  }

type Read = (answer: Answering, selection: PlannedRead, id: string) => Promise<Raw>

/** A look-up by id. */
const one =
  (table: TableName, read: Read) =>
  (scope: Scope, selected: Selected): Root => {
    const args = argumentsOf<{ id: string }>(selected)
    const rows = new Rows(table)
    const write = object(scope, objectType(selected), rows.root, selected.below)
    const selection = selectionOf(rows)
    return async (answer) => {
      const row = await read(answer, selection, args(answer.variables).id)
      answer.versions.push(versionOf([row]))
      return write(row, answer)
    }
  }

export const ROOTS: Readonly<Record<string, (scope: Scope, selected: Selected) => Root>> = {
  deployments,
  deployment: one('Deployment', ({ ctx, variables }, selection, id) =>
    readOne(ctx, { selection, variables }, { path: { deployment_id: id } }),
  ),
  listeners: newest('Listener', readListeners),
  listener: one('Listener', ({ ctx, variables }, selection, id) =>
    readListener(ctx, { selection, variables }, { path: { listener_id: id } }),
  ),
  tags: newest('Tag', readTags),
  revision: one('Revision', ({ ctx, variables }, selection, id) =>
    readOneRevision(ctx, selection, variables, { path: { revision_id: id } }),
  ),
}
