/** SELECTs of ids by indexes other than those of the list's orders. They contain every match, and often few other rows. */
import { Prisma } from '../../generated/prisma/client.ts'
import { silentBefore } from '../deployment-status/status.ts'
import { hideFromPlanner } from '../sql/statements.ts'
import type { ReadContext } from '../transaction/context.ts'
import { type DeploymentFilter, isShort } from './filter.ts'

/**
 * A condition that every match fulfils: the letter pairs of a short part of a name. Use it only to search the index:
 * computing the pairs of a row's name costs more than comparing the name. Null: not applicable.
 */
export function shortNameCondition({ name_contains: part }: DeploymentFilter): Prisma.Sql | null {
  if (part === undefined || !isShort(part)) return null
  return Prisma.sql`AND name_pieces(d.name) @> ARRAY[substr(lower(${hideFromPlanner(Prisma.sql`${part}::text`)}), 1, 2)]`
}

/** One SELECT per applicable filter member. The ids for tags come first and are exact: all of them match. */
export function candidates(ctx: ReadContext, { tag_value_ids: tags, serving }: DeploymentFilter): Prisma.Sql[] {
  return [
    ...(tags ? [taggedIds(tags)] : []),
    ...(serving === undefined ? [] : [serving ? leasedIds(ctx) : notServingIds(ctx)]),
  ]
}

export const idAmong = (ids: Prisma.Sql): Prisma.Sql => Prisma.sql`AND d.id = ANY (ARRAY(${ids}))`

const taggedIds = (tags: readonly string[]) => Prisma.sql`
  SELECT t.deployment_id AS id FROM unnest(${hideFromPlanner(Prisma.sql`${tags}::uuid[]`)}) AS o(id) CROSS JOIN LATERAL (
    SELECT t.deployment_id FROM deployment_tags t WHERE t.tag_id = o.id ORDER BY t.deployment_id) t`

/**
 * Deployments of the workspace with such a lease, per listener and for the built-in worker. The index begins with the
 * listener.
 */
function idsByLease(ctx: ReadContext, lease: Prisma.Sql): Prisma.Sql {
  const own = Prisma.sql`x.workspace_id = ${ctx.workspace.id}::uuid AND x.torn_down_at IS NULL AND ${lease}`
  return Prisma.sql`
    SELECT x.id FROM listeners o CROSS JOIN LATERAL (
      SELECT x.id FROM deployments x WHERE x.listener_id = o.id AND ${own} OFFSET 0) x
    WHERE o.workspace_id = ${ctx.workspace.id}::uuid
    UNION ALL SELECT x.id FROM deployments x WHERE x.listener_id IS NULL AND ${own}`
}

const nowSql = (ctx: ReadContext) => hideFromPlanner(Prisma.sql`${ctx.clock()}::timestamptz`)

const leasedIds = (ctx: ReadContext) =>
  idsByLease(ctx, Prisma.sql`x.lease_due_at IS NOT NULL AND x.lease_expires_at > ${nowSql(ctx)}`)

/** The number of SELECTs in notServingIds(): an id occurs at most once in each. */
export const MAX_DUPLICATES_PER_ID = 5

/** The ids are exact. */
function notServingIds(ctx: ReadContext): Prisma.Sql {
  const own = Prisma.sql`x.workspace_id = ${ctx.workspace.id}::uuid AND x.torn_down_at IS NULL`
  return Prisma.sql`
    SELECT x.id FROM deployments x
    WHERE ${own} AND (x.active_revision_id IS NULL OR coalesce((x.health->>'ready')::int, 0) <= 0)
    UNION ALL SELECT x.id FROM deployments x WHERE ${own} AND x.deleted_at IS NOT NULL
    UNION ALL ${idsByLease(ctx, Prisma.sql`x.lease_due_at IS NULL`)}
    UNION ALL ${idsByLease(ctx, Prisma.sql`x.lease_due_at <= ${nowSql(ctx)} AND x.lease_expires_at <= ${nowSql(ctx)}`)}
    UNION ALL SELECT x.id FROM listeners o CROSS JOIN LATERAL (
      SELECT x.id FROM deployments x WHERE ${own} AND x.listener_id = o.id OFFSET 0) x
    WHERE o.workspace_id = ${ctx.workspace.id}::uuid AND coalesce(o.last_seen_at, o.created_at) < ${silentBefore(ctx.clock())}`
}
