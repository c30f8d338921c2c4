/** Root fields that can be compiled: those that builder/row-fields.ts declares. Each runs one statement. */
import type { Window } from '../../../domain/paging/paging.ts'
import type { Reading } from '../../../domain/query-engine/reading.ts'
import { type Raw, RowSelection } from '../../../domain/query-engine/rows.ts'
import { PlannedRead, versionOf } from '../../../domain/query-engine/statement.ts'
import { type Lookup, type RootPage, rootFieldOf } from '../builder/row-fields.ts'
import { argumentReader, type Compilation, NotCompilable, objectType, type SelectedField } from './compilation.ts'
import { connectionWriter } from './connection-writer.ts'
import { nodeWriter, rowWriter } from './object-writer.ts'
import type { Execution } from './value-writers.ts'

/** Reads one root field as JSON. Throws errors that Pothos then presents. */
type RootReader = (execution: Execution) => Promise<string>

/** With more joins Postgres spends more time on planning than one statement saves. */
const MAX_JOINS = 12

export function rootReader(compilation: Compilation, selected: SelectedField): RootReader {
  const root = rootFieldOf(selected.field!)
  if (!root) throw new NotCompilable()
  return 'lookup' in root ? lookup(compilation, selected, root.lookup) : page(compilation, selected, root.page)
}

/** Returns the reading of a call. It leaves the rows as they are; the writers decode them. */
function plannedRead(rows: RowSelection): (execution: Execution) => Reading<Raw> {
  if (rows.joins > MAX_JOINS) throw new NotCompilable()
  const planned = new PlannedRead(rows)
  return ({ variables }) => ({
    send: (core, source) => planned.read(core, { ...source, variables }),
    decode: (row) => row,
  })
}

function lookup(compilation: Compilation, selected: SelectedField, { table, read }: Lookup): RootReader {
  const args = argumentReader<{ id: string }>(selected)
  const rows = new RowSelection(table)
  const write = rowWriter(compilation, objectType(selected), rows.root, selected.below)
  const reading = plannedRead(rows)
  return async (execution) => {
    const row = await read(execution.ctx, args(execution.variables).id, reading(execution))
    execution.versions.push(versionOf([row]))
    return write(row, execution)
  }
}

function page(
  compilation: Compilation,
  selected: SelectedField,
  { table, sort, read, cursorOf, dependsOnClock }: RootPage<Window, object>,
): RootReader {
  const args = argumentReader<Window>(selected)
  const rows = new RowSelection(table)
  const sorted = rows.root.reader(sort)
  let counts = false
  const write = connectionWriter(compilation, selected, nodeWriter(compilation, rows.root), () => {
    counts = true
  })
  const reading = plannedRead(rows)
  return async (execution) => {
    const { ctx, variables } = execution
    const window = args(variables)
    if (dependsOnClock?.(window)) execution.expiresAtMs = execution.now.getTime()
    const slice = await read(ctx, reading(execution), window, counts)
    if (counts && !slice.total) throw new NotCompilable()
    execution.versions.push(versionOf(slice.rows))
    return write({ slice, window, cursorOf: (row) => cursorOf(sorted(row), window), total: slice.total }, execution)
  }
}
