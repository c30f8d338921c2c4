/** Reads a range of a workspace's log from either end, with the log's state, in one statement. */

import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { NotFoundError, ValidationError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor, type Window } from '../paging/paging.ts'
import type { ReadContext } from '../transaction/context.ts'
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

/** Workspace and sequence number. Text, because the number may exceed JSON's integers. */
const POSITION = z.tuple([z.string(), z.string().regex(/^\d{1,18}$/)])

/** Event cursors: opaque positions in one workspace's log. Streams, resuming with `after`, and lists share them. */
export function eventCursor(event: { workspaceId: string; sequence: bigint }): string {
  return encodeCursor([event.workspaceId, String(event.sequence)])
}

/** Throws ValidationError (`cursor_invalid`, at `query.<name>`) for a malformed cursor or one of another workspace. */
export function readEventCursor(ctx: ReadContext, cursor: string, name: 'after' | 'before'): bigint {
  const [workspaceId, sequence] = decodeCursor(cursor, POSITION, ['query', name])
  if (workspaceId !== ctx.workspace.id) throw invalidCursor(name, "Not a cursor of this workspace's events.")
  return BigInt(sequence)
}

/** The sequence number of `query.after`, which must not be greater than `end`, the log's last one. */
export function readPastCursor(ctx: ReadContext, cursor: string, end: bigint): bigint {
  const sequence = readEventCursor(ctx, cursor, 'after')
  refuseAhead(sequence, 'after', end)
  return sequence
}

/** Throws ValidationError (`cursor_invalid`) if `sequence` is greater than `end`, the log's last number. */
function refuseAhead(sequence: bigint, name: 'after' | 'before', end: bigint): void {
  if (sequence > end)
    throw invalidCursor(name, 'This cursor is ahead of the event log: go on without it, or with one the log gave you.')
}

/** Throws ValidationError (`cursor_expired`) if events after `sequence` were removed, the last one at `removed`. */
export function refuseExpired(sequence: bigint, removed: bigint, name: 'after' | 'before' = 'after'): void {
  if (sequence >= removed) return
  const msg =
    'Events after this cursor were removed, since they were too old. Read the current state, then go on without a cursor, or with a newer one.'
  throw new ValidationError([{ loc: ['query', name], msg, type: 'cursor_expired' }])
}

function invalidCursor(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['query', name], msg, type: 'cursor_invalid' }])
}
