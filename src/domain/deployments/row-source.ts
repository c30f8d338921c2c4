/** The FROM clause and conditions of reads: a window by cursor, or a page by offset. */
import { Prisma } from '../../generated/prisma/client.ts'
import { changedSince } from '../change-feed/version.ts'
import { type Window, windowSize } from '../paging/paging.ts'
import type { RowSource } from '../query-engine/reading.ts'
import { hideFromPlanner } from '../sql/statements.ts'
import type { ReadContext } from '../transaction/context.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'
import { cursorBefore } from './offset-cursor-cache.ts'
import { type DeploymentOrder, orderSql } from './order.ts'
import { needsSearch, pageSql } from './page.ts'

/** Reads one row more than the window has. Throws ValidationError for a wrong window or cursor. */
export function windowRows(
  ctx: ReadContext,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
): RowSource {
  const { take, backward } = windowSize(window)
  // selects the page first, so relations are read only for its rows
  const from = pageSql(ctx, filter, order, window, take + 1, backward)
  return { from, tail: Prisma.sql`ORDER BY ${orderSql(order, backward)}`, workspaceId: ctx.workspace.id }
}

const NEWEST_FIRST: DeploymentOrder = { by: 'CREATED_AT', direction: 'desc' }

/** Up to this offset, filters without an index in list order use pageSql(); later pages walk the list. */
const SEARCH_OFFSET_LIMIT = 1_000
/** Sorts after every row. */
const MAX_TIME = Prisma.sql`'infinity'::timestamptz`
const MAX_ID = Prisma.sql`'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid`

/** Newest first. */
export function offsetPageRows(
  ctx: ReadContext,
  filter: DeploymentFilter,
  page: { limit: number; offset: number },
): RowSource {
  const tail = Prisma.sql`ORDER BY ${orderSql(NEWEST_FIRST)}`
  return { from: pageFrom(ctx, filter, page, tail), tail, workspaceId: ctx.workspace.id }
}

function pageFrom(
  ctx: ReadContext,
  filter: DeploymentFilter,
  { limit, offset }: { limit: number; offset: number },
  sorted: Prisma.Sql,
): Prisma.Sql {
  if (offset === 0) return pageSql(ctx, filter, NEWEST_FIRST, {}, limit)
  const size = Prisma.sql`LIMIT ${Prisma.raw(String(limit))}`
  if (needsSearch(filter) && offset + limit <= SEARCH_OFFSET_LIMIT) {
    // powers of two, so that few different statements are prepared
    const take = 2 ** Math.ceil(Math.log2(offset + limit))
    const found = pageSql(ctx, filter, NEWEST_FIRST, {}, take)
    return Prisma.sql`(SELECT d.* FROM ${found} ${sorted} ${size} OFFSET ${hideFromPlanner(Prisma.sql`${offset}::int`)}) d`
  }
  // walks an index without reading rows until the page begins
  const known = cursorBefore(ctx, filter, offset)
  const either = (now: Prisma.Sql, atCursor: Prisma.Sql) =>
    Prisma.sql`(SELECT CASE WHEN has.changed THEN ${now} ELSE ${atCursor} END FROM has)`
  return Prisma.sql`(
    WITH has AS MATERIALIZED (SELECT ${changedSince(ctx.workspace.id, known?.version ?? null)} AS changed)
    SELECT d.id FROM ${filterTables(filter)} WHERE ${filterSql(ctx, filter)} AND (d.created_at, d.id) < (
      ${either(MAX_TIME, Prisma.sql`${known?.cursor.createdAt ?? null}::timestamptz`)}, ${either(MAX_ID, Prisma.sql`${known?.cursor.id ?? null}::uuid`)})
    ${sorted} ${size} OFFSET ${either(Prisma.sql`${offset}::int`, Prisma.sql`${offset - (known?.cursor.offset ?? 0)}::int`)}
  ) page JOIN deployments d ON d.id = page.id`
}
