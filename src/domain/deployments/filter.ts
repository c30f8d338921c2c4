/** The filter of deployments, and conditions that find its candidates by an index. README.md explains the forms of values. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { servingSql } from '../deployment-status/serving.ts'
import { silentBefore, whereStatusSql } from '../deployment-status/status.ts'
import { WAITING_REASONS } from '../errors/reasons.ts'
import { escapeLike, hideFromPlanner } from '../paging/statements.ts'
import { parse } from '../parsing/parse.ts'
import type { ReadContext } from '../transaction/context.ts'
import { BETWEEN_STEPS, OPEN } from '../values/lifecycle.ts'
import type { RevisionStatus } from '../values/row-types.ts'
import { deploymentFilter } from '../values/shapes.ts'

const filterSchema = z.object(deploymentFilter)
const filterInput = z.object({ query: filterSchema })
export type DeploymentFilter = z.output<typeof filterSchema>

/** Parses a filter that does not come from a query string. */
export function parseFilter(raw: unknown): DeploymentFilter {
  return parse(filterInput, { query: raw ?? {} }).query
}

/** Whether time alone changes which deployments match. */
export const dependsOnClock = ({ status, serving }: DeploymentFilter): boolean =>
  status !== undefined || serving !== undefined

/**
 * Selects the tenant's matching deployments: on deployments `d`, listeners `l` and latest revisions `r`. `given` writes values whose frequency
 * varies; prepared statements pass `hideFromPlanner`.
 */
export function filterSql(ctx: ReadContext, filter: DeploymentFilter, given = visible): Prisma.Sql {
  const and = [Prisma.sql`d.workspace_id = ${ctx.workspace.id}::uuid AND d.torn_down_at IS NULL`]
  if (filter.name !== undefined) and.push(Prisma.sql`d.name = ${filter.name}`)
  if (filter.name_contains !== undefined) {
    // for such short parts Postgres would scan the whole trigram index; `|| ''` prevents its use
    const name =
      isShort(filter.name_contains) && given === hideFromPlanner ? Prisma.sql`(d.name || '')` : Prisma.sql`d.name`
    and.push(Prisma.sql`${name} ILIKE ${given(Prisma.sql`${`%${escapeLike(filter.name_contains)}%`}::text`)}`)
  }
  if (filter.status !== undefined) and.push(whereStatusSql(filter.status, ctx.clock()))
  if (filter.serving !== undefined) {
    const serving = servingSql(ctx.clock())
    and.push(filter.serving ? serving : Prisma.sql`NOT ${serving}`)
  }
  if (filter.latest_revision_status) and.push(latestSql(filter.latest_revision_status))
  if (filter.latest_revision_waits !== undefined)
    and.push(filter.latest_revision_waits ? LATEST_WAITS : Prisma.sql`NOT ${LATEST_WAITS}`)
  if (filter.source !== undefined) and.push(Prisma.sql`d.source = ${literal(filter.source)}`)
  if (filter.listener_id !== undefined)
    and.push(Prisma.sql`d.listener_id = ${given(Prisma.sql`${filter.listener_id}::uuid`)}`)
  if (filter.remote_reconciled !== undefined)
    and.push(filter.remote_reconciled ? Prisma.sql`d.listener_id IS NOT NULL` : Prisma.sql`d.listener_id IS NULL`)
  if (filter.tag_value_ids)
    and.push(Prisma.sql`EXISTS (
      SELECT 1 FROM deployment_tags t WHERE t.deployment_id = d.id AND t.tag_id = ANY (${given(Prisma.sql`${filter.tag_value_ids}::uuid[]`)}::uuid[]))`)
  if (filter.image_version !== undefined) and.push(Prisma.sql`d.image_version = ${filter.image_version}`)
  if (filter.deployment_type !== undefined) and.push(Prisma.sql`d.deployment_type = ${literal(filter.deployment_type)}`)
  if (filter.deployment_ids) and.push(Prisma.sql`d.id = ANY (${filter.deployment_ids}::uuid[])`)
  return Prisma.join(and, ' AND ')
}

/** Parts of up to 2 characters are found by letter pairs, longer ones by the trigram index. */
const isShort = (part: string): boolean => [...part].length <= 2

const visible = (value: Prisma.Sql) => value

/**
 * The FROM clause for `filterSql`, with `l` and `r` only if the filter needs them: a join prevents index-only scans.
 * `withListeners`: joins `l` in any case.
 */
export function filterTables(
  { status, serving, latest_revision_status, latest_revision_waits }: DeploymentFilter,
  withListeners = status !== undefined || serving !== undefined,
): Prisma.Sql {
  const listeners = !withListeners ? '' : ' LEFT JOIN listeners l ON l.id = d.listener_id'
  const isOfLatest = latest_revision_status !== undefined || latest_revision_waits !== undefined
  const revisions = isOfLatest ? ' LEFT JOIN revisions r ON r.id = d.latest_revision_id' : ''
  return Prisma.raw(`deployments d${listeners}${revisions}`)
}

/** Only for parsed enum values, which need no escaping. */
const literal = (value: string) => Prisma.raw(`'${value}'`)
const literals = (values: readonly string[]) => Prisma.join(values.map(literal))

const isOpen = (status: RevisionStatus) => (OPEN as readonly RevisionStatus[]).includes(status)

/** Ended revisions are found by the deployment's `latest_outcome`; only a few are open at a time. */
function latestSql(statuses: readonly RevisionStatus[]): Prisma.Sql {
  const ended = statuses.filter((status) => !isOpen(status))
  const open = statuses.filter(isOpen)
  const either = [
    ...(ended.length > 0 ? [Prisma.sql`d.latest_outcome IN (${literals(ended)})`] : []),
    ...(open.length > 0 ? [Prisma.sql`(d.latest_outcome IS NULL AND r.status IN (${literals(open)}))`] : []),
  ]
  return Prisma.sql`(${Prisma.join(either, ' OR ')})`
}

/** Whether open revision `r` waits. */
export const waitsSql = (r: Prisma.Sql): Prisma.Sql =>
  Prisma.sql`coalesce(${r}.status IN (${literals(BETWEEN_STEPS)}) OR ${r}.reason IN (${literals(WAITING_REASONS)}), false)`

const LATEST_WAITS = Prisma.sql`(d.latest_outcome IS NULL AND ${waitsSql(Prisma.raw('r'))})`

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

/** SELECTs of ids by indexes other than those of the list's orders. They contain every match, and often few other rows. */
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
