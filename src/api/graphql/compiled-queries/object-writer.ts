/** Objects that are rows: what is selected of one is looked up in the table, and read from the row. */
import type { GraphQLObjectType, SelectionSetNode } from 'graphql'
import { tagsOf } from '../../../domain/deployments/hot.ts'
import { deploymentCountOf, deploymentsOf } from '../../../domain/listeners/hot.ts'
import { newestCursor } from '../../../domain/paging/newest-first.ts'
import { cut, type Window } from '../../../domain/paging/paging.ts'
import { EXACT_UP_TO, exactly } from '../../../domain/paging/total.ts'
import type { Key, Part, Raw, Rows, Select } from '../../../domain/query-engine/rows.ts'
import { revisionCountOf, revisionsOf } from '../../../domain/revisions/hot.ts'
import { parseRevisionFilter, revisionCursor } from '../../../domain/revisions/read.ts'
import { connection } from './connection-writer.ts'
import { argumentsOf, NotHot, objectType, type Scope, type Selected } from './compilation.ts'
import { type Derived, HOT, type HotField } from './field-table.ts'
import { type Answering, columnWriter, constant, objectOf, valueWriter, type Write } from './value-writers.ts'

/** The row in Prisma's shape, for what is derived from it. */
type View = Readonly<Record<string, unknown>>

/** The JSON of an object of `type`, which is the row `part`. */
export function object(scope: Scope, type: GraphQLObjectType, part: Part, below: SelectionSetNode[]): Write {
  const hot = HOT[type.name]
  if (!hot) throw new NotHot()
  const selected = scope.fields(type, below)
  const view = viewOf(
    part,
    selected.flatMap(({ name }) => derivedOf(hot.fields[name]) ?? []),
  )
  const write = objectOf(
    selected.map((one) => {
      if (!one.field) return { key: one.key, write: constant(type.name) as (row: Raw) => string }
      const field = hot.fields[one.name] ?? (hot.columns && { column: one.name })
      if (!field) throw new NotHot()
      return { key: one.key, write: fieldOf(scope, field, one, part) }
    }),
  )
  if (!view) return (row, answer) => write(row, answer, NO_VIEW)
  return (row, answer) => write(row, answer, view(row, answer))
}

const NO_VIEW: View = {}
const derivedOf = (field: HotField | undefined) => (field && 'derived' in field ? field.derived : null)

/** Reads what all of the derived fields need, and notes until when they hold. Null: there are none. */
function viewOf(part: Part, fields: readonly Derived[]): ((row: Raw, answer: Answering) => View) | null {
  if (fields.length === 0) return null
  const holds = [...new Set(fields.flatMap((field) => field.holds ?? []))]
  const read = part.reader([...fields, ...holds].map(({ select }) => select).reduce(merged))
  return (row, answer) => {
    const view = read(row)
    for (const { of } of holds) {
      const end = of(view as never, answer.now)
      if (end && end.getTime() < answer.until) answer.until = end.getTime()
    }
    return view
  }
}

function merged(left: Select, right: Select): Select {
  const both = { ...left }
  for (const [name, what] of Object.entries(right)) {
    const own = both[name]
    both[name] =
      typeof own === 'object' && typeof what === 'object' ? { select: merged(own.select, what.select) } : what
  }
  return both
}

function fieldOf(
  scope: Scope,
  hot: HotField,
  selected: Selected,
  part: Part,
): (row: Raw, answer: Answering, view: View) => string {
  const { below } = selected
  const { type, args } = selected.field!
  if (args.length > 0 && !('list' in hot)) throw new NotHot()
  if ('column' in hot) {
    if (hot.isHeard) scope.showsHeard = true
    return columnWriter(scope, type, part.kind(hot.column), part.column(hot.column), below)
  }
  if ('derived' in hot) {
    const write = valueWriter(scope, type, below)
    const { of } = hot.derived
    return (_row, answer, view) => write(of(view as never, answer.now), answer)
  }
  const named = objectType(selected)
  if ('one' in hot) {
    const other = part.one(hot.one)
    const { present } = other
    const write = object(scope, named, other, below)
    return (row, answer) => (row[present] === null ? 'null' : write(row, answer))
  }
  if ('members' in hot) {
    const { of, unless } = hot.members
    const write = object(scope, named, of ? part.one(of) : part, below)
    if (!unless) return write
    const key = part.column(unless)
    return (row, answer) => (row[key] === null ? 'null' : write(row, answer))
  }
  if (hot.list === 'tags') return tags(scope, named, part, below)
  return hot.list === 'revisions' ? revisions(scope, selected, part) : deployments(scope, selected, part)
}

/** Nodes that are the rows `part`. */
export const nodeWriter = (scope: Scope, part: Part) => (selected: Selected) =>
  object(scope, objectType(selected), part, selected.below)

function tags(scope: Scope, type: GraphQLObjectType, part: Part, below: SelectionSetNode[]): Write {
  const { key, rows } = tagsOf(part)
  const write = object(scope, type, rows.root, below)
  return (row, answer) => `[${((row[key] ?? []) as Raw[]).map((one) => write(one, answer)).join(',')}]`
}

interface RevisionArguments extends Window {
  status?: readonly string[] | null
}

function revisions(scope: Scope, selected: Selected, part: Part): Write {
  const args = argumentsOf<RevisionArguments>(selected)
  const of = (variables: Answering['variables']) => {
    const window = args(variables)
    return { window, filter: parseRevisionFilter({ status: window.status }) }
  }
  const { key, rows } = revisionsOf(part, of)
  const number = rows.root.column('number')
  return page(scope, selected, {
    list: { key, rows },
    count: () => revisionCountOf(part, (variables) => of(variables).filter),
    window: args,
    cursorOf: (row) => revisionCursor({ number: row[number] as number }),
  })
}

function deployments(scope: Scope, selected: Selected, part: Part): Write {
  const window = argumentsOf<Window>(selected)
  const list = deploymentsOf(part, window)
  const sorted = list.rows.root.reader({ id: true, createdAt: true })
  return page(scope, selected, {
    list,
    count: () => deploymentCountOf(part),
    window,
    cursorOf: (row) => newestCursor(sorted(row) as unknown as Parameters<typeof newestCursor>[0]),
  })
}

interface Below {
  list: { key: Key; rows: Rows }
  /** Selects the total. */
  count(): Key
  window: (variables: Answering['variables']) => Window
  cursorOf: (row: Raw) => string
}

/** A page of what is below a row. */
function page(scope: Scope, selected: Selected, { list: { key, rows }, count, window, cursorOf }: Below): Write {
  let counted: Key | undefined
  const write = connection(scope, selected, nodeWriter(scope, rows.root), () => {
    counted ??= count()
  })
  return (row, answer) => {
    const own = window(answer.variables)
    const total = counted === undefined ? null : exactly(row[counted] as number)
    // reckoned by Pothos
    if (total && total.count > EXACT_UP_TO) throw new NotHot()
    return write({ slice: cut(own, (row[key] ?? []) as Raw[]), window: own, cursorOf, total }, answer)
  }
}
