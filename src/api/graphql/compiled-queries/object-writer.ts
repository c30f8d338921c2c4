/** Writers for objects that are rows. Each field's declaration (builder/row-fields.ts) says how it is read from the row. */
import type { GraphQLObjectType, SelectionSetNode } from 'graphql'
import { cut, type Window } from '../../../domain/paging/paging.ts'
import { EXACT_UP_TO, exactly } from '../../../domain/paging/total.ts'
import type { Key, Raw, Select, SelectedRow } from '../../../domain/query-engine/rows.ts'
import { type Derived, type NestedPage, type RowField, rowFieldOf } from '../builder/row-fields.ts'
import { argumentReader, type Compilation, NotCompilable, objectType, type SelectedField } from './compilation.ts'
import { connectionWriter } from './connection-writer.ts'
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
  if (type.extensions.pothosPrismaModel && !type.extensions.versioned) throw new NotCompilable()
  const selected = compilation.selectedFields(type, below).map((one) => ({ ...one, source: sourceOf(one) }))
  const view = viewReader(
    part,
    selected.flatMap(({ source }) => (source && 'derived' in source ? source.derived : [])),
  )
  const write = objectWriter(
    selected.map(({ source, ...one }) => ({
      key: one.key,
      write: source
        ? fieldWriter(compilation, source, one, part)
        : (constantWriter(type.name) as (row: Raw, execution: Execution, view: View) => string),
    })),
  )
  if (!view) return (row, execution) => write(row, execution, NO_VIEW)
  return (row, execution) => write(row, execution, view(row, execution))
}

/** Null: `__typename`. */
function sourceOf({ field }: SelectedField): RowField | null {
  if (!field) return null
  const source = rowFieldOf(field)
  if (!source) throw new NotCompilable()
  return source
}

const NO_VIEW: View = {}

/** Reads the inputs of all derived fields and lowers the answer's expiry. Null: there are no derived fields. */
function viewReader(part: SelectedRow, fields: readonly Derived[]): ((row: Raw, execution: Execution) => View) | null {
  if (fields.length === 0) return null
  const expiries = [...new Set(fields.flatMap(({ expiry }) => expiry ?? []))]
  const read = part.reader([...fields, ...expiries].map(({ select }) => select).reduce(mergeSelects))
  return (row, execution) => {
    const view = read(row)
    for (const { derive } of expiries) {
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
      typeof own === 'object' && typeof what === 'object'
        ? { select: mergeSelects(own.select as Select, what.select as Select) }
        : what
  }
  return both
}

function fieldWriter(
  compilation: Compilation,
  source: RowField,
  selected: SelectedField,
  part: SelectedRow,
): (row: Raw, execution: Execution, view: View) => string {
  const { below } = selected
  const { type, args, extensions } = selected.field!
  if ('page' in source) return pageWriter(compilation, selected, part, source.page)
  if (args.length > 0) throw new NotCompilable()
  if ('column' in source) {
    if (extensions.isLastSeen) compilation.showsLastSeen = true
    return columnWriter(compilation, type, part.kind(source.column), part.column(source.column), below)
  }
  if ('derived' in source) {
    const write = valueWriter(compilation, type, below)
    const { derive } = source.derived
    return (_row, execution, view) => write(derive(view as never, execution.now), execution)
  }
  const named = objectType(selected)
  if ('list' in source) {
    const { root, of } = part.many(source.list, () => null)
    const write = rowWriter(compilation, named, root, below)
    return (row, execution) =>
      `[${of(row)
        .map((one) => write(one, execution))
        .join(',')}]`
  }
  if ('one' in source) {
    const other = part.one(source.one)
    const { present } = other
    const write = rowWriter(compilation, named, other, below)
    return (row, execution) => (row[present] === null ? 'null' : write(row, execution))
  }
  const { of, unless } = source.members
  const write = rowWriter(compilation, named, of ? part.one(of) : part, below)
  if (!unless) return write
  const key = part.column(unless)
  return (row, execution) => (row[key] === null ? 'null' : write(row, execution))
}

/** Returns writers of nodes from the rows `part`. */
export const nodeWriter = (compilation: Compilation, part: SelectedRow) => (selected: SelectedField) =>
  rowWriter(compilation, objectType(selected), part, selected.below)

/** Writer of a page below a row. */
function pageWriter(
  compilation: Compilation,
  selected: SelectedField,
  part: SelectedRow,
  { list, argsOf, sort, cursorOf }: NestedPage<Window, unknown, object>,
): Write {
  const windowOf = argumentReader<Window>(selected)
  const listArgsOf = (variables: Execution['variables']) => argsOf(windowOf(variables))
  const { root, of } = part.many(list, listArgsOf)
  const sorted = root.reader(sort)
  let counted: Key | undefined
  const write = connectionWriter(compilation, selected, nodeWriter(compilation, root), () => {
    counted ??= part.count(list, listArgsOf)
  })
  return (row, execution) => {
    const window = windowOf(execution.variables)
    const total = counted === undefined ? null : exactly(row[counted] as number)
    // only Pothos estimates large totals
    if (total && total.count > EXACT_UP_TO) throw new NotCompilable()
    const slice = cut(window, of(row))
    return write({ slice, window, cursorOf: (one) => cursorOf(sorted(one)), total }, execution)
  }
}
