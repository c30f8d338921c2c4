/** What is found by indexes other than those of the lists' orders: ids among which are all that match, and often few others. */
import { Prisma } from '../../generated/prisma/client.ts'
import { silentBefore } from '../deployment-status/status.ts'
import { unseen } from '../sql/hide-from-planner.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type DeploymentFilter, isShort } from './filter.ts'

/**
 * A further condition on deployments `d`, which all that match fulfil: the letters of a short part of a name. Not for rows that
 * are there already: to take a name to pieces costs more than to look for the part. Null: there is none.
 */
export function shortNameCondition({ name_contains: part }: DeploymentFilter): Prisma.Sql | null {
  if (part === undefined || !isShort(part)) return null
  return Prisma.sql`AND name_pieces(d.name) @> ARRAY[substr(lower(${unseen(Prisma.sql`${part}::text`)}), 1, 2)]`
}

/** A SELECT of such ids for each member of the filter that is found like this; those of its tags first, which are no others. */
export function candidates(ctx: RequestContext, { tag_value_ids: tags, serving }: DeploymentFilter): Prisma.Sql[] {
  return [
    ...(tags ? [taggedIds(tags)] : []),
    ...(serving === undefined ? [] : [serving ? leasedIds(ctx) : notServingIds(ctx)]),
  ]
}

/** A further condition on deployments `d`. */
export const idAmong = (ids: Prisma.Sql): Prisma.Sql => Prisma.sql`AND d.id = ANY (ARRAY(${ids}))`

/** By the index of each tag. */
const taggedIds = (tags: readonly string[]) => Prisma.sql`
  SELECT t.deployment_id AS id FROM unnest(${unseen(Prisma.sql`${tags}::uuid[]`)}) AS o(id) CROSS JOIN LATERAL (
    SELECT t.deployment_id FROM deployment_tags t WHERE t.tag_id = o.id ORDER BY t.deployment_id) t`

/** Those of the workspace's listeners and of the built-in worker with such a lease: its index begins with the listener. */
function idsByLease(ctx: RequestContext, lease: Prisma.Sql): Prisma.Sql {
  const own = Prisma.sql`x.workspace_id = ${ctx.workspace.id}::uuid AND x.torn_down_at IS NULL AND ${lease}`
  return Prisma.sql`
    SELECT x.id FROM listeners o CROSS JOIN LATERAL (
      SELECT x.id FROM deployments x WHERE x.listener_id = o.id AND ${own} OFFSET 0) x
    WHERE o.workspace_id = ${ctx.workspace.id}::uuid
    UNION ALL SELECT x.id FROM deployments x WHERE x.listener_id IS NULL AND ${own}`
}

const nowSql = (ctx: RequestContext) => unseen(Prisma.sql`${ctx.clock()}::timestamptz`)

const leasedIds = (ctx: RequestContext) =>
  idsByLease(ctx, Prisma.sql`x.lease_due_at IS NOT NULL AND x.lease_expires_at > ${nowSql(ctx)}`)

/** In so many ways a deployment can be one that does not serve; `candidates` has it once for each. */
export const MAX_DUPLICATES_PER_ID = 5

/** These are no others either. */
function notServingIds(ctx: RequestContext): Prisma.Sql {
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
