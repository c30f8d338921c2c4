/**
 * SQL for a page of deployments that is fast for any filter. It tries plans at run time instead of trusting estimates,
 * because a prepared statement is planned without values. README.md explains the steps.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { changedSince } from '../change-feed/version.ts'
import { type Window, windowSize } from '../paging/paging.ts'
import { hideFromPlanner } from '../paging/statements.ts'
import type { RowSource } from '../query-engine/reading.ts'
import type { ReadContext } from '../transaction/context.ts'
import { candidates, type DeploymentFilter, filterSql, filterTables, idAmong, shortNameCondition } from './filter.ts'
import { cursorBefore } from './offset-cursor-cache.ts'
import { type DeploymentOrder, keysetSql, orderSql } from './order.ts'

/** How many rows from the page's start are scanned for frequent matches. Names need fewer, because their index is fast. */
const SCAN_ROWS = { name: 400, other: 2_000 }
/** With more candidates than this, matches are frequent and the scan finds a page. */
const MAX_CANDIDATES = { tags: 1_000, serving: 300 }

const LISTENERS = Prisma.sql`LEFT JOIN listeners l ON l.id = d.listener_id`
const REVISIONS = Prisma.sql`LEFT JOIN revisions r ON r.id = d.latest_revision_id`

/**
 * A part of a FROM clause, named `d`: `take` unsorted rows from the window's start, or with `backward` from its end. Throws
 * ValidationError for a wrong cursor.
 */
export function pageSql(
  ctx: ReadContext,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  window: Window,
  take: number,
  backward = false,
): Prisma.Sql {
  const sorted = Prisma.sql`ORDER BY ${orderSql(order, backward)}`
  // part of the text: for a parameter Postgres would assume a tenth of the table
  const limit = Prisma.sql`LIMIT ${raw(take)}`
  const keyset = keysetSql(order, window)
  const beyond = keyset ? Prisma.sql`AND ${keyset}` : Prisma.empty
  const whereOf = (filter: DeploymentFilter) => Prisma.sql`WHERE ${filterSql(ctx, filter, hideFromPlanner)} ${beyond}`
  const where = whereOf(filter)
  const matchingOf = (where: Prisma.Sql) => Prisma.sql`SELECT d.* FROM ${filterTables(filter)} ${where}`
  const matching = matchingOf(where)
  const { name_contains: name, tag_value_ids: tags } = filter

  if (needsSearch(filter)) {
    const near = (size: number) => Prisma.sql`
      SELECT d.* FROM (
        SELECT d.* FROM deployments d WHERE d.workspace_id = ${ctx.workspace.id}::uuid AND d.torn_down_at IS NULL ${beyond}
        ${sorted} LIMIT ${raw(size)}) d ${LISTENERS} ${REVISIONS} ${where}`
    // the ids for tags are exact, so the condition is redundant
    const others = matchingOf(whereOf(name === undefined ? { ...filter, tag_value_ids: undefined } : filter))
    // OFFSET 0 stops Postgres from walking along the order until enough rows match
    const among = (conditions: readonly Prisma.Sql[]) =>
      Prisma.sql`SELECT * FROM (${others} ${Prisma.join([Prisma.empty, ...conditions], ' ')} OFFSET 0) d ${sorted} ${limit}`
    const enough = raw(take)
    if (name !== undefined) {
      const letters = shortNameCondition(filter)
      return Prisma.sql`(
        WITH near AS MATERIALIZED (${near(SCAN_ROWS.name)} ${sorted} ${limit})
        SELECT * FROM near WHERE (SELECT count(*) FROM near) = ${enough}
        UNION ALL SELECT * FROM (${among(letters ? [letters] : [])}) far WHERE (SELECT count(*) FROM near) < ${enough}) d`
    }
    const all = candidates(ctx, filter)
    const few = raw(tags ? MAX_CANDIDATES.tags : MAX_CANDIDATES.serving)
    return Prisma.sql`(
      WITH few AS MATERIALIZED (SELECT id FROM (${all[0]}) c LIMIT ${few} + 1),
      many AS MATERIALIZED (SELECT count(*) > ${few} AS are FROM few),
      near AS MATERIALIZED (${near(SCAN_ROWS.other)} AND (SELECT are FROM many) ${sorted} ${limit})
      SELECT * FROM (${among([idAmong(Prisma.sql`SELECT id FROM few`)])}) found WHERE NOT (SELECT are FROM many)
      UNION ALL SELECT * FROM near WHERE (SELECT count(*) FROM near) = ${enough}
      UNION ALL SELECT * FROM (${among(all.map(idAmong))}) far WHERE (SELECT are FROM many) AND (SELECT count(*) FROM near) < ${enough}) d`
  }
  // by the listeners' index, because few listeners are silent
  if (filter.status === 'UNKNOWN')
    return Prisma.sql`(
      SELECT d.* FROM listeners l CROSS JOIN LATERAL (
        SELECT d.* FROM deployments d ${REVISIONS} ${where} AND d.listener_id = l.id ${sorted} ${limit}) d
      WHERE l.workspace_id = ${ctx.workspace.id}::uuid ${sorted} ${limit}) d`
  return Prisma.sql`(${matching} ${sorted} ${limit}) d`
}

/** Whether no index has the matches in the list's order. */
const needsSearch = ({ name_contains: name, tag_value_ids: tags, serving }: DeploymentFilter): boolean =>
  name !== undefined || tags !== undefined || serving !== undefined

const raw = (number: number) => Prisma.raw(String(number))

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
