/** Appends the events of a transaction to the event log, numbered in commit order and without gaps (README.md). */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Reason } from '../errors/reasons.ts'
import type { Query } from '../paging/statements.ts'
import { type ActorRef, COMMAND_LINE_SUBJECT, type EventType, SYSTEM } from '../values/event-types.ts'
import { inSql, TERMINAL } from '../values/lifecycle.ts'
import type { AppendedEvent } from './event-lines.ts'

/** NOTIFY channel of the relay. Payload: the workspace's id. A hint, sent after the commit: the log is the truth. */
export const EVENT_CHANNEL = 'pilothouse_events'

export interface NewEvent {
  workspaceId: string
  type: EventType
  deploymentId?: string | null
  revisionId?: string | null
  subjectId?: string | null
  from?: RevisionStatus | null
  to?: RevisionStatus | null
  reason?: Reason | null
  message?: string | null
  attempt?: number | null
  /** number of occurrences that it stands for; absent: one */
  count?: number
  traceId?: string | null
  /** names of changed fields in snake_case; never values */
  changed?: readonly string[]
  /** absent: the system */
  actor?: ActorRef
}

/** Identifies a transaction whose connection broke at the COMMIT (commit-outcome.ts). */
export interface TransactionIdentity {
  workspaceId: string
  sequence: bigint
  /** when that event was appended, as Postgres prints it */
  occurredAt: string
  /** start of the transaction by the database's clock, as Postgres prints it; unique in its session */
  begunAt: string
  /** process id of its session's backend */
  pid: number
}

/** Call it last in a transaction. */
export async function appendEvents(
  query: Query,
  events: readonly NewEvent[],
): Promise<(AppendedEvent & TransactionIdentity)[]> {
  // lock counters in the order of their ids, so transactions never deadlock
  const workspaceIds = [...new Set(events.map((event) => event.workspaceId))].sort()
  const appended: (AppendedEvent & TransactionIdentity)[] = []
  for (const workspaceId of workspaceIds) {
    const own = events.filter((event) => event.workspaceId === workspaceId)
    appended.push(...(await appendToLog(query, workspaceId, own)))
  }
  return appended
}

/** The actor of event `e` as a uuid, or null. A regular expression would be compiled for each call. */
const ACTOR_ID = `
  CASE WHEN e.actor LIKE '________-____-____-____-____________' AND translate(e.actor, '0123456789abcdef', '') = '----' THEN e.actor::uuid END`
const KEY_OF_ACTOR = `(SELECT coalesce(k.owner, k.name) FROM api_keys k WHERE k.id = ${ACTOR_ID})`
/** A stored subject is the id of a key, the command line, or a person's `sub`. */
const KIND_OF_ACTOR = `
  CASE WHEN e.kind IS NOT NULL THEN e.kind WHEN e.actor = '${COMMAND_LINE_SUBJECT}' THEN 'command_line' WHEN ${KEY_OF_ACTOR} IS NOT NULL THEN 'api_key' ELSE 'person' END`
const NAME_OF_ACTOR = `
  CASE WHEN e.name IS NOT NULL THEN e.name
       WHEN e.kind = 'listener' THEN (SELECT l.compute_id FROM listeners l WHERE l.id = ${ACTOR_ID})
       WHEN e.kind IS NULL THEN coalesce(${KEY_OF_ACTOR}, e.actor) END`

/** $1: workspace · $2: number of events · $3: events. Names: one sub-select each (README.md). */
const APPEND = {
  name: 'append events',
  text: `
    WITH counter AS (
      UPDATE event_counters SET sequence = sequence + $2::int WHERE workspace_id = $1::uuid RETURNING sequence
    ), inserted AS (
      INSERT INTO events (workspace_id, sequence, type, deployment_id, revision_id, subject_id,
                          from_status, to_status, reason, message, attempt, count, trace_id, changed, actor, actor_kind, actor_name)
      SELECT $1::uuid, counter.sequence - $2::int + e.position, e.type, e."deploymentId", e."revisionId",
             e."subjectId", e."from"::"RevisionStatus", e."to"::"RevisionStatus", e.reason, e.message, e.attempt, e.count,
             e."traceId", e.changed, e.actor, ${KIND_OF_ACTOR}, ${NAME_OF_ACTOR}
      FROM counter, ROWS FROM (jsonb_to_recordset($3::jsonb) AS (
             type text, "deploymentId" uuid, "revisionId" uuid, "subjectId" text,
             "from" text, "to" text, reason text, message text, attempt int, count int, "traceId" text, changed text[], actor text, kind text, name text
           )) WITH ORDINALITY AS e(type, "deploymentId", "revisionId", "subjectId", "from", "to", reason, message, attempt, count,
                                   "traceId", changed, actor, kind, name, position)
      RETURNING *
    )
    SELECT i.workspace_id AS "workspaceId", i.type, i.deployment_id AS "deploymentId", i.revision_id AS "revisionId",
           i.to_status::text AS "to", i.reason, i.message, i.trace_id AS "traceId",
           (SELECT d.name FROM deployments d WHERE d.id = i.deployment_id) AS name,
           (SELECT r.number FROM revisions r WHERE r.id = i.revision_id) AS number,
           CASE WHEN i.to_status IN (${inSql(TERMINAL)}) THEN (
             SELECT extract(epoch FROM i.occurred_at - min(e.occurred_at))::float8 FROM events e
             WHERE e.revision_id = i.revision_id AND e.attempt = i.attempt) END AS seconds,
           i.sequence, i.occurred_at::text AS "occurredAt", now()::text AS "begunAt", pg_backend_pid() AS pid
    FROM inserted i
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
): Promise<(AppendedEvent & TransactionIdentity)[]> {
  const rows = JSON.stringify(events.map(toRow))
  const appended = await query<AppendedEvent & Omit<TransactionIdentity, 'sequence'> & { sequence: string }>(APPEND, [
    workspaceId,
    events.length,
    rows,
  ])
  if (appended.length === 0) throw new Error(`workspace ${workspaceId} has no event counter`)
  return appended.map((event) => ({ ...event, sequence: BigInt(event.sequence) }))
}
