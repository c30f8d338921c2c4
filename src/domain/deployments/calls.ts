/** Which deployments a hot read is of: one, a window by cursor or a page by offset, of the caller's workspace. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RequestContext } from '../context/context.ts'
import { type Window, windowSize } from '../core/paging.ts'
import type { Call } from '../selection/rows.ts'
import { type DeploymentFilter, filterSql } from './filter.ts'
import { type DeploymentOrder, keysetSql, orderSql } from './order.ts'

type Variables = Call['variables']
const NONE: Variables = {}

const DEPLOYMENTS = Prisma.raw('deployments d')
/** With what filters are about. Of what no condition is about Postgres does not look. */
const FILTERED = Prisma.raw(
  'deployments d LEFT JOIN listeners l ON l.id = d.listener_id LEFT JOIN revisions r ON r.id = d.latest_revision_id',
)

export function oneOf(ctx: RequestContext, id: string, variables = NONE): Call {
  const workspaceId = ctx.workspace.id
  const tail = Prisma.sql`WHERE d.id = ${id}::uuid AND d.workspace_id = ${workspaceId}::uuid AND d.torn_down_at IS NULL`
  return { from: DEPLOYMENTS, tail, workspaceId, variables }
}

/** With one row more than the window has. Throws ValidationError for a wrong window or cursor. */
export function windowOf(
  ctx: RequestContext,
  window: Window,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  variables = NONE,
): Call {
  const { take, backward } = windowSize(window)
  const keyset = keysetSql(order, window)
  const where = keyset ? Prisma.sql`${filterSql(ctx, filter)} AND ${keyset}` : filterSql(ctx, filter)
  const sorted = Prisma.sql`ORDER BY ${orderSql(order, backward)}`
  // first those that are shown: relations of others are not looked at, whatever the order
  const from = Prisma.sql`(SELECT d.* FROM ${FILTERED} WHERE ${where} ${sorted} ${limit(take + 1)}) d`
  return { from, tail: sorted, workspaceId: ctx.workspace.id, variables }
}

/** Newest first. Postgres walks an index to the page: what is skipped is not looked at. */
export function pageOf(ctx: RequestContext, filter: DeploymentFilter, page: { limit: number; offset: number }): Call {
  const sorted = Prisma.sql`ORDER BY ${orderSql({ by: 'CREATED_AT', direction: 'desc' })}`
  const ids = Prisma.sql`SELECT d.id FROM ${FILTERED} WHERE ${filterSql(ctx, filter)} ${sorted} ${limit(page.limit)} OFFSET ${page.offset}`
  const from = Prisma.sql`(${ids}) page JOIN deployments d ON d.id = page.id`
  return { from, tail: sorted, workspaceId: ctx.workspace.id, variables: NONE }
}

/** It is part of the text: of a parameter Postgres assumes that it is a tenth of the table. */
const limit = (rows: number) => Prisma.raw(`LIMIT ${Math.trunc(rows)}`)
