/**
 * The rows of a page of deployments, as SQL that is fast whatever matches: few or nearly all, the newest or the oldest. It does
 * not leave that to estimates, since a statement that was planned once is planned for no value in particular.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RequestContext } from '../context/context.ts'
import type { Window } from '../core/paging.ts'
import { silentBefore } from '../deployment-status/status.ts'
import { type DeploymentFilter, filterSql, filterTables } from './filter.ts'
import { type DeploymentOrder, keysetSql, orderSql } from './order.ts'

/**
 * Rows from the page's start in which what is frequent is looked for. Parts of names are found by their own index in no time, so
 * few will do; to find all of a tag, or all that serve, is more work than to pass many.
 */
const NEAR = { name: 400, other: 2_000 }

const LISTENERS = Prisma.sql`LEFT JOIN listeners l ON l.id = d.listener_id`
const REVISIONS = Prisma.sql`LEFT JOIN revisions r ON r.id = d.latest_revision_id`

/**
 * A part of a FROM clause, called `d`: `take` rows of `deployments` from where the window begins, in whatever order; `backward`:
 * the last ones. Throws ValidationError for a wrong cursor.
 */
export function pageSql(
  ctx: RequestContext,
  filter: DeploymentFilter,
  order: DeploymentOrder,
  window: Window,
  take: number,
  backward = false,
): Prisma.Sql {
  const sorted = Prisma.sql`ORDER BY ${orderSql(order, backward)}`
  // its size is part of the text: of a parameter Postgres assumes that it is a tenth of the table
  const limit = Prisma.sql`LIMIT ${Prisma.raw(String(take))}`
  const keyset = keysetSql(order, window)
  const beyond = keyset ? Prisma.sql`AND ${keyset}` : Prisma.empty
  const where = Prisma.sql`WHERE ${filterSql(ctx, filter)} ${beyond}`
  const matching = Prisma.sql`SELECT d.* FROM ${filterTables(filter)} ${where}`

  if (filter.name_contains !== undefined || filter.tag_value_ids || filter.serving !== undefined) {
    const near = Prisma.sql`
      SELECT d.* FROM deployments d WHERE d.workspace_id = ${ctx.workspace.id}::uuid AND d.torn_down_at IS NULL ${beyond}
      ${sorted} LIMIT ${Prisma.raw(String(filter.name_contains === undefined ? NEAR.other : NEAR.name))}`
    const enough = Prisma.raw(String(take))
    // OFFSET: as a whole, so by the index of what rarely matches, not along the order until enough were found
    return Prisma.sql`(
      WITH near AS MATERIALIZED (SELECT d.* FROM (${near}) d ${LISTENERS} ${REVISIONS} ${where} ${sorted} ${limit})
      SELECT * FROM near WHERE (SELECT count(*) FROM near) = ${enough}
      UNION ALL
      SELECT * FROM (SELECT d.* FROM (${matching} ${among(ctx, filter)} OFFSET 0) d ${sorted} ${limit}) far
      WHERE (SELECT count(*) FROM near) < ${enough}) d`
  }
  // of each silent listener by its index: there are few
  if (filter.status === 'UNKNOWN')
    return Prisma.sql`(
      SELECT d.* FROM listeners l CROSS JOIN LATERAL (
        SELECT d.* FROM deployments d ${REVISIONS} ${where} AND d.listener_id = l.id ${sorted} ${limit}) d
      WHERE l.workspace_id = ${ctx.workspace.id}::uuid ${sorted} ${limit}) d`
  return Prisma.sql`(${matching} ${sorted} ${limit}) d`
}

/** A further condition: ids of deployments among which are all that match, by the indexes of what they would match by. */
function among(ctx: RequestContext, { tag_value_ids: tags, serving }: DeploymentFilter): Prisma.Sql {
  const ids: Prisma.Sql[] = []
  if (tags) ids.push(Prisma.sql`SELECT t.deployment_id FROM deployment_tags t WHERE t.tag_id = ANY (${tags}::uuid[])`)
  if (serving !== undefined) ids.push(serving ? held(ctx) : notServing(ctx))
  const each = ids.map((one) => Prisma.sql`AND d.id = ANY (ARRAY(${one}))`)
  return each.length > 0 ? Prisma.join(each, ' ') : Prisma.empty
}

/** Those of the workspace's listeners and of the built-in worker with such a lease: its index begins with the listener. */
function ofLease(ctx: RequestContext, lease: Prisma.Sql): Prisma.Sql {
  const own = Prisma.sql`x.workspace_id = ${ctx.workspace.id}::uuid AND x.torn_down_at IS NULL AND ${lease}`
  return Prisma.sql`
    SELECT x.id FROM listeners o CROSS JOIN LATERAL (
      SELECT x.id FROM deployments x WHERE x.listener_id = o.id AND ${own} OFFSET 0) x
    WHERE o.workspace_id = ${ctx.workspace.id}::uuid
    UNION ALL SELECT x.id FROM deployments x WHERE x.listener_id IS NULL AND ${own}`
}

const held = (ctx: RequestContext) => ofLease(ctx, Prisma.sql`x.lease_expires_at > ${ctx.clock()}`)

function notServing(ctx: RequestContext): Prisma.Sql {
  const own = Prisma.sql`x.workspace_id = ${ctx.workspace.id}::uuid AND x.torn_down_at IS NULL`
  return Prisma.sql`
    SELECT x.id FROM deployments x
    WHERE ${own} AND (x.active_revision_id IS NULL OR coalesce((x.health->>'ready')::int, 0) <= 0)
    UNION ALL SELECT x.id FROM deployments x WHERE ${own} AND x.deleted_at IS NOT NULL
    UNION ALL ${ofLease(ctx, Prisma.sql`x.lease_expires_at IS NULL`)}
    UNION ALL ${ofLease(ctx, Prisma.sql`x.lease_expires_at <= ${ctx.clock()}`)}
    UNION ALL SELECT x.id FROM listeners o CROSS JOIN LATERAL (
      SELECT x.id FROM deployments x WHERE ${own} AND x.listener_id = o.id OFFSET 0) x
    WHERE o.workspace_id = ${ctx.workspace.id}::uuid AND coalesce(o.last_seen_at, o.created_at) < ${silentBefore(ctx.clock())}`
}
