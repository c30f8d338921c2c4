/** Appends the events of a transaction to the event log, numbered in commit order and without gaps (README.md). */

import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Query } from '../sql/prepared-statement.ts'
import { type ActorRef, COMMAND_LINE_SUBJECT, SYSTEM } from '../values/event-actor.ts'
import type { EventType } from '../values/event-types.ts'
import { inSql, TERMINAL } from '../values/lifecycle.ts'
import type { Reason } from '../values/reasons.ts'
import type { AppendedEvent } from './event-lines.ts'

/** NOTIFY channel of the relay; the payload is the workspace's id. A hint only, sent after the commit: the log is the truth. */
export const EVENT_CHANNEL = 'pilothouse_events'

export interface NewEvent {
  workspaceId: string
  type: EventType
  deploymentId?: string | null
  revisionId?: string | null
  /** id of what changed, when it is neither deployment nor revision */
  subjectId?: string | null
  from?: RevisionStatus | null
  to?: RevisionStatus | null
  reason?: Reason | null
  message?: string | null
  attempt?: number | null
  /** of an update: the fields that it changed, in snake_case; never a value */
  changed?: readonly string[]
  /** who did it; absent: the system */
  actor?: ActorRef
}

/** By which a transaction is found again when its connection broke at the COMMIT (commit-outcome.ts). */
export interface TransactionIdentity {
  workspaceId: string
  /** of its last event */
  sequence: bigint
  /** when that was appended, in Postgres' words */
  occurredAt: string
  /** its own begin, by the database's clock, in Postgres' words: no other transaction of its session has it */
  begunAt: string
  /** of its session */
  pid: number
}

/**
 * Appends `events` in their order, each to the log of its workspace, and notifies with the commit: `notices` are channels with their
 * payloads, of what nobody would find by looking. Commits that notify follow each other, so there are mostly none.
 * Call it last in a transaction. Returns the events with what a line about them needs, and by which the transaction is found
 * again, from the same statement.
 */
export async function appendEvents(
  query: Query,
  events: readonly NewEvent[],
  notices: readonly string[],
): Promise<(AppendedEvent & TransactionIdentity)[]> {
  // counters are locked in one order: no two transactions wait for each other's
  const workspaceIds = [...new Set(events.map((event) => event.workspaceId))].sort()
  const appended: (AppendedEvent & TransactionIdentity)[] = []
  for (const [i, workspaceId] of workspaceIds.entries()) {
    const own = events.filter((event) => event.workspaceId === workspaceId)
    appended.push(...(await appendToLog(query, workspaceId, own, i === 0 ? notices : [])))
  }
  if (workspaceIds.length === 0 && notices.length > 0) await query(NOTIFY, [notices])
  return appended
}

/** Of event `e` in the statement below: the actor's id as the key of a table; null where it can be none. A pattern would be compiled at each call. */
const ACTOR_ID = `
  CASE WHEN e.actor LIKE '________-____-____-____-____________' AND translate(e.actor, '0123456789abcdef', '') = '----' THEN e.actor::uuid END`
const KEY_OF_ACTOR = `(SELECT coalesce(k.owner, k.name) FROM api_keys k WHERE k.id = ${ACTOR_ID})`
/** A subject that was stored is a key's id, the command line, or a person's `sub`. */
const KIND_OF_ACTOR = `
  CASE WHEN e.kind IS NOT NULL THEN e.kind WHEN e.actor = '${COMMAND_LINE_SUBJECT}' THEN 'command_line' WHEN ${KEY_OF_ACTOR} IS NOT NULL THEN 'api_key' ELSE 'person' END`
const NAME_OF_ACTOR = `
  CASE WHEN e.name IS NOT NULL THEN e.name
       WHEN e.kind = 'listener' THEN (SELECT l.compute_id FROM listeners l WHERE l.id = ${ACTOR_ID})
       WHEN e.kind IS NULL THEN coalesce(${KEY_OF_ACTOR}, e.actor) END`

const NOTIFY = {
  name: 'notify',
  text: `SELECT pg_notify(split_part(notice, ' ', 1), split_part(notice, ' ', 2)) FROM unnest($1::text[]) AS notice`,
}

/** Names are looked up one by one: as joins, of as many events as Postgres supposes, they would read whole tables under the counter's lock. $1: the workspace · $2: how many events · $3: the events · $4: notices */
const APPEND = {
  name: 'append events',
  text: `
    WITH counter AS (
      UPDATE event_counters SET sequence = sequence + $2::int WHERE workspace_id = $1::uuid RETURNING sequence
    ), inserted AS (
      INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, subject_id,
                          from_status, to_status, reason, message, attempt, changed, actor, actor_kind, actor_name)
      SELECT $1::uuid, counter.sequence - $2::int + e.position, e.type, e."deploymentId", e."revisionId",
             e."subjectId", e."from"::"RevisionStatus", e."to"::"RevisionStatus", e.reason, e.message, e.attempt,
             e.changed, e.actor, ${KIND_OF_ACTOR}, ${NAME_OF_ACTOR}
      FROM counter, ROWS FROM (jsonb_to_recordset($3::jsonb) AS (
             type text, "deploymentId" uuid, "revisionId" uuid, "subjectId" text,
             "from" text, "to" text, reason text, message text, attempt int, changed text[], actor text, kind text, name text
           )) WITH ORDINALITY AS e(type, "deploymentId", "revisionId", "subjectId", "from", "to", reason, message, attempt,
                                   changed, actor, kind, name, position)
      RETURNING *
    ), notified AS MATERIALIZED (
      SELECT pg_notify(split_part(notice, ' ', 1), split_part(notice, ' ', 2)) FROM unnest($4::text[]) AS notice
    )
    SELECT i.workspace_id AS "workspaceId", i.type, i.deployment_id AS "deploymentId", i.revision_id AS "revisionId",
           i.to_status::text AS "to", i.reason, i.message,
           (SELECT d.name FROM deployments d WHERE d.id = i.deployment_id) AS name,
           (SELECT r.number FROM revisions r WHERE r.id = i.revision_id) AS number,
           CASE WHEN i.to_status IN (${inSql(TERMINAL)}) THEN (
             SELECT extract(epoch FROM i.occurred_at - min(e.occurred_at))::float8 FROM events e
             WHERE e.revision_id = i.revision_id AND e.attempt = i.attempt) END AS seconds,
           i.sequence, i.occurred_at::text AS "occurredAt", now()::text AS "begunAt", pg_backend_pid() AS pid
    FROM (SELECT count(*) FROM notified) AS told, inserted i
    ORDER BY i.sequence`,
}

function toRow({ actor = SYSTEM, changed = [], ...event }: NewEvent) {
  const { kind, id } = actor
  return { ...event, changed, kind, actor: id, name: kind === undefined ? undefined : actor.name }
}

async function appendToLog(
  query: Query,
  workspaceId: string,
  events: readonly NewEvent[],
  notices: readonly string[],
): Promise<(AppendedEvent & TransactionIdentity)[]> {
  const rows = JSON.stringify(events.map(toRow))
  const appended = await query<AppendedEvent & Omit<TransactionIdentity, 'sequence'> & { sequence: string }>(APPEND, [
    workspaceId,
    events.length,
    rows,
    notices,
  ])
  if (appended.length === 0) throw new Error(`workspace ${workspaceId} has no event counter`)
  return appended.map((event) => ({ ...event, sequence: BigInt(event.sequence) }))
}
