/** Writers for objects that are rows: looks each selected field up in the field table and reads it from the row. */
import type { GraphQLObjectType, SelectionSetNode } from 'graphql'
import { tagsOf } from '../../../domain/deployments/compiled-reads.ts'
import { deploymentCountOf, deploymentsOf } from '../../../domain/listeners/read.ts'
import { cut, newestCursor, type Window } from '../../../domain/paging/paging.ts'
import { EXACT_UP_TO, exactly } from '../../../domain/paging/total.ts'
import type { Key, Raw, RowSelection, Select, SelectedRow } from '../../../domain/query-engine/rows.ts'
import { revisionCountOf, revisionsOf } from '../../../domain/revisions/compiled-reads.ts'
import { parseRevisionFilter, revisionCursor } from '../../../domain/revisions/read.ts'
import { argumentReader, type Compilation, NotCompilable, objectType, type SelectedField } from './compilation.ts'
import { connectionWriter } from './connection-writer.ts'
import { COMPILED_TYPES, type Derived, type FieldSource } from './field-table.ts'
import { columnWriter, constantWriter, type Execution, objectWriter, valueWriter, type Write } from './value-writers.ts'

/** The row in Prisma's shape, for derived fields. */
type View = Readonly<Record<string, unknown>>

/** Writer of an object of `type` from the row `part`. */
export function rowWriter(
  compilation: Compilation,
  type: GraphQLObjectType,
  part: SelectedRow,
  below: SelectionSetNode[],
): Write {
  const source = COMPILED_TYPES[type.name]
  if (!source) throw new NotCompilable()
  const selected = compilation.selectedFields(type, below)
  const view = viewReader(
    part,
    selected.flatMap(({ name }) => derivedOf(source.fields[name]) ?? []),
  )
  const write = objectWriter(
    selected.map((one) => {
      if (!one.field) return { key: one.key, write: constantWriter(type.name) as (row: Raw) => string }
      const field = source.fields[one.name] ?? (source.columns && { column: one.name })
      if (!field) throw new NotCompilable()
      return { key: one.key, write: fieldWriter(compilation, field, one, part) }
    }),
  )
  if (!view) return (row, execution) => write(row, execution, NO_VIEW)
  return (row, execution) => write(row, execution, view(row, execution))
}

const NO_VIEW: View = {}
const derivedOf = (field: FieldSource | undefined) => (field && 'derived' in field ? field.derived : null)

/** Reads the inputs of all derived fields and lowers the answer's expiry. Null: there are no derived fields. */
function viewReader(part: SelectedRow, fields: readonly Derived[]): ((row: Raw, execution: Execution) => View) | null {
  if (fields.length === 0) return null
  const holds = [...new Set(fields.flatMap((field) => field.holds ?? []))]
  const read = part.reader([...fields, ...holds].map(({ select }) => select).reduce(mergeSelects))
  return (row, execution) => {
    const view = read(row)
    for (const { derive } of holds) {
      const end = derive(view as never, execution.now)
      if (end && end.getTime() < execution.expiresAtMs) execution.expiresAtMs = end.getTime()
    }
    return view
  }
}

function mergeSelects(left: Select, right: Select): Select {
  const both = { ...left }
  for (const [name, what] of Object.entries(right)) {
    const own = both[name]
    both[name] =
      typeof own === 'object' && typeof what === 'object' ? { select: mergeSelects(own.select, what.select) } : what
  }
  return both
}

function fieldWriter(
  compilation: Compilation,
  source: FieldSource,
  selected: SelectedField,
  part: SelectedRow,
): (row: Raw, execution: Execution, view: View) => string {
  const { below } = selected
  const { type, args } = selected.field!
  if (args.length > 0 && !('list' in source)) throw new NotCompilable()
  if ('column' in source) {
    if (source.isLastSeen) compilation.showsLastSeen = true
    return columnWriter(compilation, type, part.kind(source.column), part.column(source.column), below)
  }
  if ('derived' in source) {
    const write = valueWriter(compilation, type, below)
    const { derive } = source.derived
    return (_row, execution, view) => write(derive(view as never, execution.now), execution)
  }
  const named = objectType(selected)
  if ('one' in source) {
    const other = part.one(source.one)
    const { present } = other
    const write = rowWriter(compilation, named, other, below)
    return (row, execution) => (row[present] === null ? 'null' : write(row, execution))
  }
  if ('members' in source) {
    const { of, unless } = source.members
    const write = rowWriter(compilation, named, of ? part.one(of) : part, below)
    if (!unless) return write
    const key = part.column(unless)
    return (row, execution) => (row[key] === null ? 'null' : write(row, execution))
  }
  if (source.list === 'tags') return tagsWriter(compilation, named, part, below)
  return source.list === 'revisions'
    ? revisionsWriter(compilation, selected, part)
    : deploymentsWriter(compilation, selected, part)
}

/** Returns writers of nodes from the rows `part`. */
export const nodeWriter = (compilation: Compilation, part: SelectedRow) => (selected: SelectedField) =>
  rowWriter(compilation, objectType(selected), part, selected.below)

function tagsWriter(
  compilation: Compilation,
  type: GraphQLObjectType,
  part: SelectedRow,
  below: SelectionSetNode[],
): Write {
  const { key, rows } = tagsOf(part)
  const write = rowWriter(compilation, type, rows.root, below)
  return (row, execution) => `[${((row[key] ?? []) as Raw[]).map((one) => write(one, execution)).join(',')}]`
}

interface RevisionArguments extends Window {
  status?: readonly string[] | null
}

function revisionsWriter(compilation: Compilation, selected: SelectedField, part: SelectedRow): Write {
  const args = argumentReader<RevisionArguments>(selected)
  const filteredWindow = (variables: Execution['variables']) => {
    const window = args(variables)
    return { window, filter: parseRevisionFilter({ status: window.status }) }
  }
  const { key, rows } = revisionsOf(part, filteredWindow)
  const number = rows.root.column('number')
  return pageWriter(compilation, selected, {
    list: { key, rows },
    count: () => revisionCountOf(part, (variables) => filteredWindow(variables).filter),
    window: args,
    cursorOf: (row) => revisionCursor({ number: row[number] as number }),
  })
}

function deploymentsWriter(compilation: Compilation, selected: SelectedField, part: SelectedRow): Write {
  const window = argumentReader<Window>(selected)
  const list = deploymentsOf(part, window)
  const sorted = list.rows.root.reader({ id: true, createdAt: true })
  return pageWriter(compilation, selected, {
    list,
    count: () => deploymentCountOf(part),
    window,
    cursorOf: (row) => newestCursor(sorted(row) as unknown as Parameters<typeof newestCursor>[0]),
  })
}

interface NestedPage {
  list: { key: Key; rows: RowSelection }
  /** Adds the count to the statement. */
  count(): Key
  window: (variables: Execution['variables']) => Window
  cursorOf: (row: Raw) => string
}

/** Writer of a page nested below a row. */
function pageWriter(
  compilation: Compilation,
  selected: SelectedField,
  { list: { key, rows }, count, window, cursorOf }: NestedPage,
): Write {
  let counted: Key | undefined
  const write = connectionWriter(compilation, selected, nodeWriter(compilation, rows.root), () => {
    counted ??= count()
  })
  return (row, execution) => {
    const own = window(execution.variables)
    const total = counted === undefined ? null : exactly(row[counted] as number)
    // only Pothos estimates large totals
    if (total && total.count > EXACT_UP_TO) throw new NotCompilable()
    return write({ slice: cut(own, (row[key] ?? []) as Raw[]), window: own, cursorOf, total }, execution)
  }
}
