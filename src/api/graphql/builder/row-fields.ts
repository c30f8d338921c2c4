/**
 * Fields that the query engine reads. One declaration serves both ways of execution: the resolvers use `select` and `resolve`,
 * compiled queries the extension `row` (../compiled-queries/README.md).
 */
import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLField, GraphQLResolveInfo } from 'graphql'
import { cut, type Window } from '../../../domain/paging/paging.ts'
import type { Total } from '../../../domain/paging/total.ts'
import { type CountedSlice, type Reading, selected } from '../../../domain/query-engine/reading.ts'
import type { Model, RowList, Select } from '../../../domain/query-engine/rows.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { loadBatched } from './batch.ts'
import { builder } from './builder.ts'
import { connectionOf, NODE_PATHS } from './connection.ts'
import type { GraphQLContext } from './context.ts'
import { pageCost } from './cost.ts'

/** For a type that compiled queries may read: every change of its visible columns raises the cache version. */
export const VERSIONED = { extensions: { versioned: true } } as const

/** How a compiled query reads a field. */
export type RowField =
  | { column: string }
  | { derived: Derived }
  /** the row of a relation, or null */
  | { one: string }
  /** an object made from columns of this row, or of the relation `of`. Null if the column `unless` is null */
  | { members: { of?: string; unless?: string } }
  /** all rows of a list, without arguments */
  | { list: RowList<null> }
  | { page: NestedPage<Window, unknown, object> }

/** Null: only the resolver can read it. Exposed columns and relations need no declaration. */
export function rowFieldOf({ extensions }: GraphQLField<unknown, unknown>): RowField | null {
  const { row, pothosPrismaRelationField: relation, pothosExposedField: column } = extensions
  if (row) return row as RowField
  if (relation) return { one: (relation as { name: string }).name }
  return typeof column === 'string' ? { column } : null
}

/** Computed from the row and its relations in Prisma's shape. */
export interface Derived {
  select: Select
  derive(row: never, now: Date): unknown
  expiry?: Expiry<never>
}

/** When a value that depends on the clock may change (domain/deployment-status/expiry.ts). */
interface Expiry<Row> {
  select: Select
  derive(row: Row, now: Date): Date | null
}

export const derived = <const S extends object, Row, V>(select: S, derive: (row: Row) => V) => ({
  select,
  resolve: (row: Row) => derive(row),
  extensions: { row: { derived: { select, derive } } },
})

/** The same for values that depend on the clock, too. */
export const derivedNow =
  <ExpiryRow>(expiry: Expiry<ExpiryRow>) =>
  <const S extends object, Row, V>(select: S, derive: (row: Row, now: Date) => V) => ({
    select,
    resolve: (row: Row, _args: object, { clock }: GraphQLContext) => derive(row, clock()),
    extensions: { row: { derived: { select, derive, expiry } } },
  })

/** An object whose members are columns of this row. */
export const membersOfRow = {
  resolve: <Row>(row: Row) => row,
  extensions: { row: { members: {} } },
} as const

/** All rows of a list below each row. `name`: of the field, and of a relation of Prisma. */
export const nestedList = <const Name extends string>(name: Name, list: RowList<null>) => ({
  select: { [name]: { list, args: null } } as Record<Name, object>,
  resolve: (row: Record<Name, unknown>) => row[name] as never,
  extensions: { row: { list } },
})

/** A page of a list below each row. */
export interface NestedPage<Args extends Window, ListArgs, Row> {
  list: RowList<ListArgs>
  argsOf(args: Args): ListArgs
  /** the columns that `cursorOf` needs */
  sort: Select
  cursorOf(row: Row): string
}

/**
 * Pothos passes the list on to the query engine. Fields of one row whose arguments differ are read one after another. `count`:
 * the totals for the rows with these ids.
 */
export function nestedPage<const Name extends string, Args extends Window, ListArgs, Row>(
  name: Name,
  page: NestedPage<Args, ListArgs, Row>,
  count: (ctx: RequestContext, ids: readonly string[], args: ListArgs) => Promise<Map<string, Total>>,
) {
  const { list, argsOf, sort, cursorOf } = page
  return {
    complexity: pageCost,
    // the public type of `nested` allows only one path
    select: ((args: Args, _ctx: object, nested: (query: object, nodes: object) => object) => ({
      [name]: nested({ list, args: argsOf(args), select: sort }, { getType: () => list.table, paths: NODE_PATHS }),
    })) as never,
    // contains whole rows if a node is selected
    resolve: (row: { id: string }, args: Args, ctx: GraphQLContext) =>
      connectionOf(cut(args, (row as unknown as Record<Name, Row[]>)[name]), args, cursorOf, async () => {
        const filter = JSON.stringify({ ...args, first: null, after: null, last: null, before: null })
        const countAll = (ids: readonly string[]) => count(ctx, ids, argsOf(args))
        return (await loadBatched(ctx, `count ${list.table} ${name} ${filter}`, row.id, countAll)) ?? 0
      }),
    extensions: { row: { page } },
  }
}

/** How a query reads rows by one statement. */
type RootField = { lookup: Lookup } | { page: RootPage<Window, object> }

export const rootFieldOf = ({ extensions }: GraphQLField<unknown, unknown>): RootField | null =>
  (extensions.root as RootField | undefined) ?? null

export interface Lookup {
  table: Model
  read<Row>(ctx: RequestContext, id: string, reading: Reading<Row>): Promise<Row>
}

/** One row by its id, for a prisma field. */
export const lookup = <Row>(table: Model, read: Lookup['read']) => ({
  nullable: true as const,
  args: BY_ID,
  resolve: (query: object, _root: unknown, { id }: { id: string }, ctx: GraphQLContext) =>
    read<Row>(ctx, id, selected(table, query)),
  extensions: { root: { lookup: { table, read } } },
})

const BY_ID = builder.args((t) => ({ id: t.id({ required: true }) }))

export interface RootPage<Args extends Window, Sorted> {
  table: Model
  /** the columns that `cursorOf` needs */
  sort: Select
  /** Throws ValidationError for wrong arguments. */
  read<Row>(ctx: RequestContext, reading: Reading<Row>, args: Args, counts?: boolean): Promise<CountedSlice<Row>>
  cursorOf(row: Sorted, args: Args): string
  count(ctx: RequestContext, args: Args): Promise<number | Total>
  /** whether time alone may change which rows match */
  dependsOnClock?(args: Args): boolean
}

/** A page of the workspace's rows, for a connection. */
export const rootPage = <Row, Args extends Window>(page: RootPage<Args, Row>) => ({
  complexity: pageCost,
  async resolve(_root: unknown, args: Args, ctx: GraphQLContext, info: GraphQLResolveInfo) {
    const query = queryFromInfo({ context: ctx, info, typeName: page.table, paths: NODE_PATHS })
    const slice = await page.read(ctx, selected<Row>(page.table, query), args)
    return connectionOf(
      slice,
      args,
      (row) => page.cursorOf(row, args),
      () => page.count(ctx, args),
    )
  },
  extensions: { root: { page } },
})
