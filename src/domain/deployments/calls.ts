/** Which deployments a hot read is of: one, a window by cursor or a page by offset, of the caller's workspace. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RequestContext } from '../context/context.ts'
import { type Window, windowSize } from '../core/paging.ts'
import type { Call } from '../selection/rows.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'
import { type DeploymentOrder, orderSql } from './order.ts'
import { pageSql } from './page.ts'

type Variables = Call['variables']
const NONE: Variables = {}

const DEPLOYMENTS = Prisma.raw('deployments d')
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
  // first those that are shown: relations of others are not looked at, whatever the order
  const from = pageSql(ctx, filter, order, window, take + 1, backward)
  return { from, tail: Prisma.sql`ORDER BY ${orderSql(order, backward)}`, workspaceId: ctx.workspace.id, variables }
}

const NEWEST_FIRST: DeploymentOrder = { by: 'CREATED_AT', direction: 'desc' }

/** Newest first. Postgres walks an index to the page: what is skipped is not looked at. */
export function pageOf(ctx: RequestContext, filter: DeploymentFilter, page: { limit: number; offset: number }): Call {
  const sorted = Prisma.sql`ORDER BY ${orderSql(NEWEST_FIRST)}`
  const matching = Prisma.sql`SELECT d.id FROM ${filterTables(filter)} WHERE ${filterSql(ctx, filter)}`
  const bounds = Prisma.sql`LIMIT ${Prisma.raw(String(page.limit))} OFFSET ${page.offset}`
  const from =
    page.offset === 0
      ? pageSql(ctx, filter, NEWEST_FIRST, {}, page.limit)
      : Prisma.sql`(${matching} ${sorted} ${bounds}) page JOIN deployments d ON d.id = page.id`
  return { from, tail: sorted, workspaceId: ctx.workspace.id, variables: NONE }
}
