/** Reads pages with the query engine. */
import { Prisma } from '../../generated/prisma/client.ts'
import { TABLES } from '../../generated/tables.ts'
import { cut, newestFirstSql, type Slice, type Window } from '../paging/paging.ts'
import { countedSql, EXACT_UP_TO, exactly, type Total } from '../paging/total.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { Raw } from './rows.ts'
import { extraOf, type PlannedRead } from './statement.ts'

export interface Reading {
  selection: PlannedRead
  variables: Readonly<Record<string, unknown>>
}

export interface CountedSlice extends Slice<Raw> {
  total: Total | null
}

/** Newest first. The total is null if there are too many rows, or if an empty page leaves it open. */
export async function readNewest(
  ctx: RequestContext,
  { selection, variables }: Reading,
  table: 'Listener' | 'Tag',
  window: Window,
  counts: boolean,
): Promise<CountedSlice> {
  const workspaceId = ctx.workspace.id
  const all = Prisma.sql`${Prisma.raw(TABLES[table].name)} d WHERE d.workspace_id = ${workspaceId}::uuid`
  const { where, order, limit } = newestFirstSql(window, 'd')
  const rows = await selection.read(ctx, {
    from: Prisma.sql`(SELECT d.* FROM ${all}${where} ORDER BY ${order} ${limit}) d`,
    tail: Prisma.sql`ORDER BY ${order}`,
    workspaceId,
    variables,
    extra: counts ? countedSql(Prisma.sql`SELECT FROM ${all}`) : undefined,
  })
  return { ...cut(window, rows), total: counts ? totalOf(rows, window) : null }
}

function totalOf(rows: readonly Raw[], { after, before }: Window): Total | null {
  if (!rows[0]) return after || before ? null : exactly(0)
  const count = extraOf(rows[0]) as number
  return count > EXACT_UP_TO ? null : exactly(count)
}
