/** Reads a range of a workspace's log from either end, with the log's state, in one statement. */
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import type { Window } from '../paging/paging.ts'
import type { ReadContext } from '../transaction/context.ts'
import { readEventCursor, refuseAhead, refuseExpired } from './cursor.ts'
import {
  EVENT_COLUMNS,
  type EventRow,
  type EventScope,
  eventsSql,
  REMOVED_UNTIL,
  type StoredEvent,
  toEvent,
} from './read.ts'

export interface EventRange {
  /** in the requested order */
  events: StoredEvent[]
  hasMore: boolean
  /** how far the log was read: its last sequence number, or the one before `before` */
  end: bigint
}

export interface RangeOptions {
  descending: boolean
  take: number
  /** the cursors' names in errors */
  names?: Record<'after' | 'before', 'after' | 'before'>
}

interface LogState {
  /** the log's last sequence number */
  end: bigint
  /** events up to this number were removed by age */
  removed: bigint
  /** the deployment exists, or events of it remain; true if none was requested */
  deploymentThere: boolean
  /** the same for the revision, which must be the deployment's */
  revisionThere: boolean
}

/** Reads the log between two exclusive cursors. Throws ValidationError, NotFoundError. */
export async function readRange(
  ctx: ReadContext,
  scope: EventScope,
  cursors: Pick<Window, 'after' | 'before'>,
  { descending, take, names = { after: 'after', before: 'before' } }: RangeOptions,
): Promise<EventRange> {
  const workspaceId = ctx.workspace.id
  const place = (name: 'after' | 'before') => (cursors[name] ? readEventCursor(ctx, cursors[name], names[name]) : null)
  const [after, before] = [place('after'), place('before')]
  const order = descending ? Prisma.sql`DESC` : Prisma.sql`ASC`
  const within = Prisma.sql`
    (${after}::bigint IS NULL OR sequence > ${after}) AND (${before}::bigint IS NULL OR sequence < ${before})`
  const rows = await ctx.db.$queryRaw<(EventRow & LogState)[]>`
    SELECT c.sequence AS end, ${REMOVED_UNTIL} AS removed,
           ${deploymentThere(workspaceId, scope)} AS "deploymentThere", ${revisionThere(workspaceId, scope)} AS "revisionThere",
           ${EVENT_COLUMNS}
    FROM event_counters c
    LEFT JOIN LATERAL ${eventsSql(workspaceId, scope, within, Prisma.sql`sequence ${order}`, take + 1)} AS e ON true
    WHERE c.workspace_id = ${workspaceId}::uuid
    ORDER BY e.sequence ${order}`
  const log = rows[0]
  if (!log) throw new Error(`workspace ${workspaceId} has no event counter`)
  if (!log.deploymentThere) throw new NotFoundError('Deployment', scope.deploymentId!)
  if (!log.revisionThere) throw new NotFoundError('Revision', scope.revisionId!)
  if (after !== null) {
    refuseAhead(after, names.after, log.end)
    refuseExpired(after, log.removed, names.after)
  }
  if (before !== null) refuseAhead(before, names.before, log.end)
  // without events there is still one row, with the log's state
  const found = log.workspaceId === null ? [] : rows
  const events = found
    .slice(0, take)
    .map(({ end: _, removed: __, deploymentThere: ___, revisionThere: ____, ...row }) => toEvent(row))
  return { events, hasMore: found.length > take, end: before === null ? log.end : before - 1n }
}

function deploymentThere(workspaceId: string, { deploymentId }: EventScope): Prisma.Sql {
  if (deploymentId === undefined) return Prisma.sql`true`
  return Prisma.sql`(
    EXISTS (SELECT 1 FROM deployments d WHERE d.id = ${deploymentId}::uuid AND d.workspace_id = c.workspace_id)
    OR EXISTS (SELECT 1 FROM events x WHERE x.deployment_id = ${deploymentId}::uuid AND x.workspace_id = ${workspaceId}::uuid))`
}

function revisionThere(workspaceId: string, { deploymentId, revisionId }: EventScope): Prisma.Sql {
  if (revisionId === undefined) return Prisma.sql`true`
  const own = deploymentId === undefined ? Prisma.empty : Prisma.sql`AND r.deployment_id = ${deploymentId}::uuid`
  return Prisma.sql`(
    EXISTS (SELECT 1 FROM revisions r JOIN deployments d ON d.id = r.deployment_id
            WHERE r.id = ${revisionId}::uuid AND d.workspace_id = c.workspace_id ${own})
    OR EXISTS (SELECT 1 FROM events r WHERE r.revision_id = ${revisionId}::uuid AND r.workspace_id = ${workspaceId}::uuid ${own}))`
}
