/** Reads rows with the query engine: all of a source, or a page that is sorted by creation time. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type Model, TABLES } from '../../generated/tables.ts'
import { NotFoundError } from '../errors/errors.ts'
import { cut, newestFirstSql, type Slice, type Window } from '../paging/paging.ts'
import { checkOnly, hideFromPlanner } from '../paging/statements.ts'
import { countedSql, EXACT_UP_TO, exactly, type Total } from '../paging/total.ts'
import type { Core, ReadContext } from '../transaction/context.ts'
import { type Call, type Raw, RowSelection, type Selection, selectOf } from './rows.ts'
import { extraOf, PlannedRead } from './statement.ts'

/** Which rows a statement reads. */
export type RowSource = Omit<Call, 'variables'>

/** What a statement reads of each row, and what becomes of it. */
export interface Reading<Row> {
  send(core: Pick<Core, 'query'>, source: RowSource): Promise<Raw[]>
  decode(row: Raw): Row
}

/** Rows in the shape of a selection. `isFixed`: one of a few selections in the source, for which Postgres keeps the plan. */
export function selected<Row>(table: Model, selection: Selection, isFixed = false): Reading<Row> {
  const rows = new RowSelection(table)
  const decode = rows.root.reader(selectOf(rows.root, selection))
  const planned = new PlannedRead(rows)
  return {
    send: (core, source) => planned[isFixed ? 'read' : 'readOnce'](core, { ...source, variables: NONE }),
    decode: decode as (row: Raw) => Row,
  }
}

const NONE = {}

export async function readAll<Row>(
  core: Pick<Core, 'query'>,
  { send, decode }: Reading<Row>,
  source: RowSource,
): Promise<Row[]> {
  return (await send(core, source)).map(decode)
}

const tableOf = (table: Model) => Prisma.raw(`${TABLES[table].name} d`)

/** The row with this id, of any tenant; undefined: none. */
export async function readById<Row>(
  core: Pick<Core, 'query'>,
  table: Model,
  id: string,
  selection: Selection,
): Promise<Row | undefined> {
  const source = { from: tableOf(table), tail: Prisma.sql`WHERE d.id = ${id}::uuid` }
  return (await readAll<Row>(core, selected(table, selection), source))[0]
}

export const REVISIONS_WITH_DEPLOYMENT = Prisma.raw('revisions d JOIN deployments o ON o.id = d.deployment_id')

/** The tenant boundary for the deployments `o` of revisions, like `liveDeployment` (transaction/access.ts). */
export function liveDeploymentSql({ workspace }: { workspace: { id: string } }): Prisma.Sql {
  const own = checkOnly(Prisma.sql`o.workspace_id = ${hideFromPlanner(Prisma.sql`${workspace.id}::uuid`)}`)
  return Prisma.sql`${own} AND o.torn_down_at IS NULL`
}

type TenantTable = 'Deployment' | 'Revision' | 'Listener' | 'Tag' | 'TracingProject'

/**
 * The tenant's rows `d` that `condition` finds by an index, followed by `page`. A torn-down deployment is gone, and so are its
 * revisions.
 */
export function tenantRows(
  ctx: ReadContext,
  table: TenantTable,
  condition: Prisma.Sql,
  page = Prisma.empty,
): RowSource {
  const workspaceId = ctx.workspace.id
  const isRevision = table === 'Revision'
  const own = isRevision ? liveDeploymentSql(ctx) : checkOnly(Prisma.sql`d.workspace_id = ${workspaceId}::uuid`)
  const live = table === 'Deployment' ? Prisma.sql` AND d.torn_down_at IS NULL` : Prisma.empty
  const from = isRevision ? REVISIONS_WITH_DEPLOYMENT : tableOf(table)
  return { from, tail: Prisma.sql`WHERE ${condition} AND ${own}${live} ${page}`, workspaceId }
}

/** The tenant's row with this id. Throws NotFoundError. */
export async function readOwn<Row>(
  ctx: ReadContext,
  table: 'Deployment' | 'Revision' | 'Listener',
  id: string,
  reading: Reading<Row>,
): Promise<Row> {
  const [found] = await readAll(ctx, reading, tenantRows(ctx, table, Prisma.sql`d.id = ${id}::uuid`))
  if (!found) throw new NotFoundError(table, id)
  return found
}

/** The tenant's rows with these ids, unsorted. */
export const readOwnRows = <Row>(
  ctx: ReadContext,
  table: TenantTable,
  ids: readonly string[],
  selection: Selection,
): Promise<Row[]> => readAll(ctx, selected<Row>(table, selection), tenantRows(ctx, table, amongIds(ids)))

// the second cast keeps Postgres from reading the parentheses as rows
export const amongIds = (ids: readonly string[]): Prisma.Sql =>
  Prisma.sql`d.id = ANY (${hideFromPlanner(Prisma.sql`${ids}::uuid[]`)}::uuid[])`

export interface CountedSlice<Row> extends Slice<Row> {
  /** null: not counted, too many rows, or an empty page leaves it open */
  total: Total | null
}

/** Newest first. */
export async function readNewest<Row>(
  ctx: ReadContext,
  { send, decode }: Reading<Row>,
  table: 'Listener' | 'Tag',
  window: Window,
  counts: boolean,
): Promise<CountedSlice<Row>> {
  const workspaceId = ctx.workspace.id
  const all = Prisma.sql`${tableOf(table)} WHERE d.workspace_id = ${workspaceId}::uuid`
  const { where, order, limit } = newestFirstSql(window, 'd')
  const rows = await send(ctx, {
    from: Prisma.sql`(SELECT d.* FROM ${all}${where} ORDER BY ${order} ${limit}) d`,
    tail: Prisma.sql`ORDER BY ${order}`,
    workspaceId,
    extra: counts ? countedSql(Prisma.sql`SELECT FROM ${all}`) : undefined,
  })
  return { ...cut(window, rows.map(decode)), total: counts ? totalOf(rows, window) : null }
}

function totalOf(rows: readonly Raw[], { after, before }: Window): Total | null {
  if (!rows[0]) return after || before ? null : exactly(0)
  const count = extraOf(rows[0]) as number
  return count > EXACT_UP_TO ? null : exactly(count)
}
