/** A row of the event log, and the one list of columns that all readers use. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { ActorKind, EventActor } from '../values/event-types.ts'

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
  e.changed, e.actor AS "actorId", e.actor_kind AS "actorKind", e.occurred_at AS "occurredAt",
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
