/** Lists events for GraphQL, by keyset, and finds the names of the resources that a list is about in one statement. */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { type Slice, type Window, windowSize } from '../paging/paging.ts'
import { exactly, type Total, totalOf, totalsOf } from '../paging/total.ts'
import { queryUuid, uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext } from '../transaction/context.ts'
import { eventFilters, filteredScope } from './page.ts'
import { readEventCursor, readRange, refuseExpired } from './range.ts'
import {
  EVENT_COLUMNS,
  type EventRow,
  type EventScope,
  REMOVED_UNTIL,
  type StoredEvent,
  scopeSql,
  toEvent,
} from './read.ts'

export interface EventSubjects {
  by: 'deploymentId' | 'revisionId'
  ids: readonly string[]
}

const COLUMN = { deploymentId: Prisma.sql`deployment_id`, revisionId: Prisma.sql`revision_id` }

/**
 * One window per subject, oldest first, with events of all types; `last: n` gives the newest. Streams can resume from the
 * cursors. Other tenants' ids have empty windows. One statement. Role: viewer.
 */
export async function listEvents(
  ctx: ReadContext,
  window: Window,
  { by, ids }: EventSubjects,
): Promise<Map<string, Slice<StoredEvent>>> {
  requireRole(ctx, 'viewer')
  const { take, backward } = windowSize(window)
  const after = window.after ? readEventCursor(ctx, window.after, 'after') : null
  const before = window.before ? readEventCursor(ctx, window.before, 'before') : null
  const found = await ctx.db.$queryRaw<(EventRow & { subject: string | null; removed: bigint })[]>`
    SELECT ${REMOVED_UNTIL} AS removed, subject::text, ${EVENT_COLUMNS}
    FROM event_counters c LEFT JOIN (unnest(${ids}::uuid[]) AS subject CROSS JOIN LATERAL (
      SELECT * FROM events
      WHERE ${COLUMN[by]} = subject AND workspace_id = ${ctx.workspace.id}::uuid
        AND (${after}::bigint IS NULL OR sequence > ${after}) AND (${before}::bigint IS NULL OR sequence < ${before})
      ORDER BY sequence ${backward ? Prisma.sql`DESC` : Prisma.sql`ASC`}
      LIMIT ${take + 1}
    ) AS e) ON true
    WHERE c.workspace_id = ${ctx.workspace.id}::uuid
    ORDER BY e.sequence`
  if (after !== null) refuseExpired(after, found[0]?.removed ?? 0n)
  const slices = new Map<string, Slice<StoredEvent>>()
  for (const id of ids) {
    const own = found.filter((row) => row.subject === id).map(({ subject: _, removed: __, ...event }) => toEvent(event))
    const hasMore = own.length > take
    // the extra row is at the far end of the window
    const rows = backward ? own.slice(hasMore ? 1 : 0) : own.slice(0, take)
    slices.set(id, { rows, hasMore, backward })
  }
  return slices
}

/** Role: viewer. */
export async function countEvents(ctx: ReadContext, { by, ids }: EventSubjects): Promise<Map<string, Total>> {
  requireRole(ctx, 'viewer')
  const own = Prisma.sql`e.workspace_id = ${ctx.workspace.id}::uuid`
  return totalsOf(ctx.db, ids, (id) => Prisma.sql`SELECT FROM events e WHERE ${own} AND e.${COLUMN[by]} = ${id}`)
}

const { types, ...otherFilters } = eventFilters
const filterInput = z.object({
  query: z.object({ types, deployment_id: queryUuid, revision_id: queryUuid, ...otherFilters }),
})

/** The filter of REST, with GraphQL's names. */
export type EventFilter = Partial<z.input<typeof filterInput>['query']>

/** Throws ValidationError. */
function scopeOf(filter: EventFilter): EventScope {
  const { query } = parse(filterInput, { query: filter })
  return { ...filteredScope(query), deploymentId: query.deployment_id, revisionId: query.revision_id }
}

/** A window of the workspace's events. One statement. Role: viewer. Throws ValidationError, NotFoundError. */
export async function windowEvents(
  ctx: ReadContext,
  window: Window,
  filter: EventFilter,
  newestFirst: boolean,
): Promise<Slice<StoredEvent>> {
  requireRole(ctx, 'viewer')
  const scope = scopeOf(filter)
  const { take, backward } = windowSize(window)
  const { after, before } = window
  const cursors = newestFirst ? { after: before, before: after } : { after, before }
  const names = newestFirst ? ({ after: 'before', before: 'after' } as const) : undefined
  const { events, hasMore } = await readRange(ctx, scope, cursors, {
    descending: newestFirst !== backward,
    take,
    names,
  })
  return { rows: backward ? events.reverse() : events, hasMore, backward }
}

/** One statement; without a filter, the sequence numbers give the count. Role: viewer. */
export async function countWorkspaceEvents(ctx: ReadContext, filter: EventFilter): Promise<Total> {
  requireRole(ctx, 'viewer')
  const scope = scopeOf(filter)
  const { types } = scope
  const and = [
    ...(types === undefined ? [] : [Prisma.sql`e.type = ANY (${types}::text[])`]),
    ...scopeSql(ctx.workspace.id, scope),
  ]
  const own = Prisma.sql`e.workspace_id = ${ctx.workspace.id}::uuid`
  if (and.length > 0)
    return totalOf(ctx.db, Prisma.sql`SELECT FROM events e WHERE ${Prisma.join([own, ...and], ' AND ')}`)
  const [row] = await ctx.db.$queryRaw<{ count: bigint }[]>`
    SELECT c.sequence - ${REMOVED_UNTIL} AS count FROM event_counters c WHERE c.workspace_id = ${ctx.workspace.id}::uuid`
  return exactly(Number(row?.count ?? 0))
}

/** `<resource> <id>`; null: the subject has no name. */
export function subjectOf({
  type,
  deploymentId,
  subjectId,
}: Pick<StoredEvent, 'type' | 'deploymentId' | 'subjectId'>): string | null {
  if (deploymentId !== null) return `deployment ${deploymentId}`
  return subjectId !== null && uuid.safeParse(subjectId).success ? `${type.split('.')[0]} ${subjectId}` : null
}

/**
 * Names by subjectOf(); deleted subjects are left out. A deployment keeps its name until its row is deleted. Tokens and
 * connections are private to their owners and have none. One statement. Role: viewer.
 */
export async function nameSubjects(ctx: ReadContext, subjects: readonly string[]): Promise<Map<string, string>> {
  requireRole(ctx, 'viewer')
  const requested = subjects.map((subject) => subject.split(' '))
  const { id: workspace, organizationId: organization } = ctx.workspace
  const rows = await ctx.db.$queryRaw<{ resource: string; id: string; name: string }[]>`
    WITH requested AS (
      SELECT * FROM unnest(${requested.map(([resource]) => resource!)}::text[], ${requested.map(([, id]) => id!)}::uuid[]) AS a(resource, id)),
    own AS (SELECT ${workspace}::uuid AS id)
    SELECT a.resource, a.id::text, d.name FROM requested a JOIN deployments d ON d.id = a.id, own
      WHERE a.resource = 'deployment' AND d.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, l.compute_id FROM requested a JOIN listeners l ON l.id = a.id, own
      WHERE a.resource = 'listener' AND l.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, k.name FROM requested a JOIN api_keys k ON k.id = a.id, own
      WHERE a.resource = 'api_key' AND k.organization_id = ${organization}::uuid AND (k.workspace_id = own.id OR k.workspace_id IS NULL)
    UNION ALL SELECT a.resource, a.id::text, t.key || '=' || t.value FROM requested a JOIN tags t ON t.id = a.id, own
      WHERE a.resource = 'tag' AND t.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, p.name FROM requested a JOIN tracing_projects p ON p.id = a.id, own
      WHERE a.resource = 'tracing_project' AND p.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, i.name FROM requested a JOIN integrations i ON i.id = a.id, own
      WHERE a.resource = 'integration' AND i.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, r.name FROM requested a JOIN alert_rules r ON r.id = a.id, own
      WHERE a.resource = 'alert_rule' AND r.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, w.name FROM requested a JOIN webhook_endpoints w ON w.id = a.id, own
      WHERE a.resource = 'webhook_endpoint' AND w.workspace_id = own.id
    UNION ALL SELECT a.resource, a.id::text, o.name FROM requested a JOIN oauth_providers o ON o.id = a.id
      WHERE a.resource = 'oauth_provider' AND o.organization_id = ${organization}::uuid`
  return new Map(rows.map(({ resource, id, name }) => [`${resource} ${id}`, name]))
}
