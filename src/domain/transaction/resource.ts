/** Reads one type of resource, limited to what the caller may see: one by its id, lists newest first, and a written row. */
import { NotFoundError } from '../errors/errors.ts'
import { cut, newestFirst, type OffsetPage, type Slice, type Window } from '../paging/paging.ts'
import { requireRole } from './access.ts'
import type { RequestContext, Sql, Tx } from './context.ts'
import { type Selection, writtenRow } from './once.ts'

/** A where-clause of Prisma. */
type Where = object

/** A table of Prisma. A row that is read contains the selected fields, although its type has all fields. */
interface Table<Row> {
  findFirst(args: object): PromiseLike<Row | null>
  findMany(args: object): PromiseLike<Row[]>
  findUniqueOrThrow(args: object): PromiseLike<Row>
  count(args: object): PromiseLike<number>
}

interface Definition {
  /** for messages */
  name: string
  table(sql: Sql): unknown
  /** the tenant boundary; lists and look-ups spread it into their where-clause */
  visible(ctx: RequestContext): Where
  /** throws for callers that may not read the resource; default: requires the role viewer */
  check?(ctx: RequestContext): void
  /** selection of all reads, in place of the caller's */
  view?: Selection
  /** default: by the row's id */
  whereId?(id: string): Where
}

/** Functions in the parameters run after the check of the caller, because 403 comes before 422 (docs/api-rules.md#errors). */
export interface Resource<Row> {
  /** Throws NotFoundError. */
  get(ctx: RequestContext, id: () => string, query?: Selection): Promise<Row>
  all(ctx: RequestContext, filter?: () => Where, query?: Selection): Promise<Row[]>
  page(ctx: RequestContext, query: () => { limit: number; offset: number; filter?: Where }): Promise<OffsetPage<Row>>
  window(ctx: RequestContext, window: Window, query?: Selection, filter?: () => Where): Promise<Slice<Row>>
  count(ctx: RequestContext, filter?: () => Where): Promise<number>
  /** Unsorted, without unknown and other tenants' ids. The caller has checked the role. */
  byIds(ctx: RequestContext, ids: readonly string[], query: Selection): Promise<Row[]>
  /** Reads a row that the transaction wrote. */
  written(tx: Tx, id: string, query: Selection): Promise<Row>
}

const NEWEST_FIRST = [{ createdAt: 'desc' }, { id: 'desc' }]

export function resource<Row>({
  name,
  visible,
  check = (ctx) => requireRole(ctx, 'viewer'),
  view,
  whereId = (id) => ({ id }),
  ...definition
}: Definition): Resource<Row> {
  const table = (sql: Sql) => definition.table(sql) as Table<Row>
  const among = (ctx: RequestContext, ...conditions: Where[]) => ({ AND: [visible(ctx), ...conditions] })
  const everything = () => ({})
  return {
    async get(ctx, id, query) {
      check(ctx)
      const requested = id()
      const where = among(ctx, whereId(requested))
      const found = await table(ctx.db).findFirst({ ...(view ?? query), where })
      if (!found) throw new NotFoundError(name, requested)
      return found
    },
    async all(ctx, filter = everything, query) {
      check(ctx)
      return table(ctx.db).findMany({ ...(view ?? query), where: among(ctx, filter()), orderBy: NEWEST_FIRST })
    },
    async page(ctx, query) {
      check(ctx)
      const { limit, offset, filter = {} } = query()
      const bounds = { orderBy: NEWEST_FIRST, take: limit, skip: offset }
      const resources = await table(ctx.db).findMany({ ...view, where: among(ctx, filter), ...bounds })
      return { resources, offset: offset + resources.length }
    },
    async window(ctx, window, query, filter = everything) {
      check(ctx)
      const where = filter()
      const { keyset, ...bounds } = newestFirst(window)
      const args = { ...(view ?? query), where: among(ctx, where, keyset), ...bounds }
      return cut(window, await table(ctx.db).findMany(args))
    },
    async count(ctx, filter = everything) {
      check(ctx)
      return table(ctx.db).count({ where: among(ctx, filter()) })
    },
    async byIds(ctx, ids, query) {
      const where = among(ctx, { id: { in: [...ids] } })
      return table(ctx.db).findMany({ ...(view ?? query), where })
    },
    written: writtenRow(table),
  }
}
