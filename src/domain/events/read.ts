/** Reads the event log forward from a sequence number, for the relay and streams, and its counters. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Db } from '../transaction/context.ts'
import { type ActorKind, DECIDING_KINDS, type EventActor } from '../values/event-types.ts'

/** All present members must match. */
export interface EventScope {
  /** any of these */
  types?: readonly string[]
  deploymentId?: string
  revisionId?: string
  /** actors of any of these kinds */
  actorKinds?: readonly ActorKind[]
  /** the actor's id: of a key, a person or a listener */
  actor?: string
  /** at this time or later; `until`: before this time */
  since?: Date
  until?: Date
}

/** The first `limit` matching events after `after`, in order. One statement. */
export async function readEvents(
  db: Db,
  workspaceId: string,
  after: bigint,
  limit: number,
  scope: EventScope = {},
): Promise<StoredEvent[]> {
  const rows = await db.$queryRaw<EventRow[]>`
    SELECT ${EVENT_COLUMNS}
    FROM ${eventsSql(workspaceId, scope, Prisma.sql`sequence > ${after}`, Prisma.sql`sequence ASC`, limit)} AS e ORDER BY e.sequence`
  return rows.map(toEvent)
}

/** A part of a FROM clause: the first `limit` matching events, unsorted. `range`: a condition on sequence numbers. */
export function eventsSql(
  workspaceId: string,
  scope: EventScope,
  range: Prisma.Sql,
  order: Prisma.Sql,
  limit: number,
): Prisma.Sql {
  const { types, deploymentId, revisionId } = scope
  const own = Prisma.join(
    [Prisma.sql`workspace_id = ${workspaceId}::uuid AND ${range}`, ...scopeSql(workspaceId, scope)],
    ' AND ',
  )
  const first = Prisma.sql`ORDER BY ${order} LIMIT ${limit}`
  if (types === undefined) return Prisma.sql`(SELECT * FROM events WHERE ${own} ${first})`
  if (deploymentId !== undefined || revisionId !== undefined)
    return Prisma.sql`(SELECT * FROM events WHERE ${own} AND type = ANY (${types}::text[]) ${first})`
  return Prisma.sql`(
    SELECT found.* FROM unnest(${types}::text[]) AS t(name) CROSS JOIN LATERAL (
      SELECT * FROM events WHERE ${own} AND type = t.name ${first}) AS found ${first})`
}

/** The conditions of a scope, without its types. */
export function scopeSql(
  workspaceId: string,
  { deploymentId, revisionId, actorKinds, actor, since, until }: EventScope,
): Prisma.Sql[] {
  const and: Prisma.Sql[] = []
  if (deploymentId !== undefined) and.push(Prisma.sql`deployment_id = ${deploymentId}::uuid`)
  if (revisionId !== undefined) and.push(Prisma.sql`revision_id = ${revisionId}::uuid`)
  if (actorKinds) {
    and.push(Prisma.sql`actor_kind = ANY (${actorKinds}::text[])`)
    // the partial index's own condition, so that it is used
    if (actorKinds.every((kind) => (DECIDING_KINDS as readonly ActorKind[]).includes(kind))) and.push(DECIDING_ACTORS)
  }
  if (actor !== undefined) and.push(Prisma.sql`actor = ${actor}`)
  if (since) and.push(Prisma.sql`sequence >= ${sequenceAt(workspaceId, since)}`)
  if (until) and.push(Prisma.sql`sequence < ${sequenceAt(workspaceId, until)}`)
  return and
}

const DECIDING_ACTORS = Prisma.raw(`actor_kind IN (${DECIDING_KINDS.map((kind) => `'${kind}'`).join(', ')})`)

/**
 * SQL for the number of the first event at `time` or later, by binary search: numbers have no gaps and grow with time.
 */
const sequenceAt = (workspaceId: string, time: Date): Prisma.Sql => Prisma.sql`(
  WITH RECURSIVE part(low, high) AS (
    SELECT (SELECT e.sequence FROM events e WHERE e.workspace_id = ${workspaceId}::uuid ORDER BY e.sequence LIMIT 1), l.sequence + 1
    FROM event_counters l WHERE l.workspace_id = ${workspaceId}::uuid
    UNION ALL
    SELECT CASE WHEN e.occurred_at < ${time} THEN e.sequence + 1 ELSE p.low END,
           CASE WHEN e.occurred_at < ${time} THEN p.high ELSE e.sequence END
    FROM part p JOIN events e ON e.workspace_id = ${workspaceId}::uuid AND e.sequence = (p.low + p.high) / 2 WHERE p.low < p.high)
  SELECT low FROM part WHERE low >= high)`

/** Only the members that streams use. */
export function inScope(
  event: Pick<StoredEvent, 'type' | 'deploymentId' | 'revisionId'>,
  { types, deploymentId, revisionId }: EventScope,
): boolean {
  return (
    (types === undefined || types.includes(event.type)) &&
    (deploymentId === undefined || event.deploymentId === deploymentId) &&
    (revisionId === undefined || event.revisionId === revisionId)
  )
}

/** The last sequence number per workspace. One statement. */
export async function currentSequences(db: Db, workspaceIds: readonly string[]): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ workspace_id: string; sequence: bigint }[]>`
    SELECT workspace_id::text, sequence FROM event_counters WHERE workspace_id = ANY(${workspaceIds}::uuid[])`
  return new Map(rows.map((row) => [row.workspace_id, row.sequence]))
}

/** Events up to this number were removed by age. One statement. */
export async function readRemovedUntil(db: Db, workspaceId: string): Promise<bigint> {
  const [row] = await db.$queryRaw<{ removed: bigint }[]>`
    SELECT ${REMOVED_UNTIL} AS removed FROM event_counters c WHERE c.workspace_id = ${workspaceId}::uuid`
  return row?.removed ?? 0n
}

/** The same as an expression, for counter `c`. The remaining log starts right after it and has no gap. */
export const REMOVED_UNTIL = Prisma.sql`
  coalesce((SELECT e.sequence - 1 FROM events e WHERE e.workspace_id = c.workspace_id ORDER BY e.sequence LIMIT 1), c.sequence)`

/** Whether the log still has matching events. One statement. */
export async function hasEvents(db: Db, workspaceId: string, scope: EventScope): Promise<boolean> {
  return (await readEvents(db, workspaceId, 0n, 1, scope)).length > 0
}

export interface LogSnapshot {
  sequence: bigint
  /** events up to this number were removed by age */
  removed: bigint
  /** null: not requested, or not in this workspace */
  deploymentId: string | null
  /** torn down: no more events will follow */
  tornDown: boolean
  /** null: not requested, or not the deployment's */
  revision: {
    id: string
    deploymentId: string
    status: RevisionStatus
    reason: string | null
    message: string | null
    attempt: number
    since: Date
  } | null
}

/**
 * The log's last sequence number and a revision's status (default: the latest revision's) as of that event. A status commits
 * together with its event, and this is one snapshot. With both ids, the revision must be the deployment's.
 */
export async function readSnapshot(
  db: Db,
  workspaceId: string,
  ids: { deploymentId?: string; revisionId?: string },
): Promise<LogSnapshot> {
  const { deploymentId = null, revisionId = null } = ids
  const [row] = await db.$queryRaw<SnapshotRow[]>`
    SELECT c.sequence, ${REMOVED_UNTIL} AS removed, d.id::text AS deployment_id, r.id::text AS revision_id, r.status::text AS status,
           r.reason, r.status_message, r.attempt, r.status_since, d.torn_down_at IS NOT NULL AS "tornDown"
    FROM event_counters c
    LEFT JOIN deployments d ON d.workspace_id = c.workspace_id
      AND d.id = COALESCE(${deploymentId}::uuid, (SELECT deployment_id FROM revisions WHERE id = ${revisionId}::uuid))
    LEFT JOIN revisions r ON r.deployment_id = d.id AND r.id = COALESCE(${revisionId}::uuid, d.latest_revision_id)
    WHERE c.workspace_id = ${workspaceId}::uuid`
  if (!row) throw new Error(`workspace ${workspaceId} has no event counter`)
  const { sequence, removed, deployment_id, revision_id, tornDown } = row
  if (deployment_id === null || revision_id === null)
    return { sequence, removed, deploymentId: deployment_id, tornDown, revision: null }
  const { status, reason, status_message: message, attempt, status_since: since } = row
  return {
    sequence,
    removed,
    deploymentId: deployment_id,
    tornDown,
    revision: { id: revision_id, deploymentId: deployment_id, status, reason, message, attempt, since },
  }
}

interface SnapshotRow {
  sequence: bigint
  removed: bigint
  deployment_id: string | null
  tornDown: boolean
  /** null: all fields below are null too */
  revision_id: string | null
  status: RevisionStatus
  reason: string | null
  status_message: string | null
  attempt: number
  status_since: Date
}

/** `sequence` is gap-free per workspace, in commit order (docs/architecture.md#rules). */
export interface StoredEvent {
  workspaceId: string
  sequence: bigint
  /** one of EVENT_TYPES, or a newer server's type */
  type: string
  deploymentId: string | null
  revisionId: string | null
  /** the changed resource, if it is neither deployment nor revision */
  subjectId: string | null
  fromStatus: RevisionStatus | null
  toStatus: RevisionStatus | null
  reason: string | null
  message: string | null
  attempt: number | null
  /** number of occurrences that it stands for; null: one */
  count: number | null
  /** trace of the rollout; null: none */
  traceId: string | null
  /** changed fields of an update, in snake_case */
  changed: readonly string[]
  actor: EventActor
  occurredAt: Date
}

export interface EventRow extends Omit<StoredEvent, 'actor' | 'changed'> {
  changed: string[] | null
  actorId: string | null
  actorKind: ActorKind | null
  actorName: string | null
}

/** On `events e`. Older servers stored only an actor's id: the id of a key, or else of a person; null is the system. */
export const EVENT_COLUMNS = Prisma.sql`
  e.workspace_id::text AS "workspaceId", e.sequence, e.type, e.deployment_id::text AS "deploymentId", e.revision_id::text AS "revisionId",
  e.subject_id AS "subjectId", e.from_status::text AS "fromStatus", e.to_status::text AS "toStatus", e.reason, e.message, e.attempt,
  e.count, e.trace_id AS "traceId", e.changed, e.actor AS "actorId", e.actor_kind AS "actorKind", e.occurred_at AS "occurredAt",
  CASE WHEN e.actor_kind IS NOT NULL THEN e.actor_name ELSE (
    SELECT coalesce(k.owner, k.name) FROM api_keys k
    WHERE k.id = CASE WHEN e.actor ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN e.actor::uuid END) END AS "actorName"`

/** Keeps additional members of the row. */
export function toEvent({ changed, actorId, actorKind, actorName, ...row }: EventRow): StoredEvent {
  return { ...row, changed: changed ?? [], actor: actorOf(actorId, actorKind, actorName) }
}

function actorOf(id: string | null, kind: ActorKind | null, name: string | null): EventActor {
  if (kind !== null) return { kind, id, name }
  if (id === null) return { kind: 'system', id, name: null }
  return name === null ? { kind: 'person', id, name: id } : { kind: 'api_key', id, name }
}
