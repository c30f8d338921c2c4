/** The last change by a caller, stored in the deployment's row for lists. The event log has the whole history. */
import { type EventActor, isActorKind } from './event-types.ts'

export const DEPLOYMENT_CHANGES = {
  CREATED: 'The deployment was created.',
  UPDATED: 'The deployment was changed. `changed` names the fields; if it is empty, a new revision was created.',
  TAGGED: 'The tags of the deployment changed.',
  PUSHED: 'A pushed commit created a new revision.',
  REDEPLOYED: 'A revision was rolled out again. A rollback is one, too.',
  RESTARTED: 'A restart of the running revision was requested.',
  DELETED: 'The deletion of the deployment was requested.',
} as const
type ChangeWord = keyof typeof DEPLOYMENT_CHANGES

export interface Change {
  what: ChangeWord
  actor: EventActor
  /** names of the changed fields, in snake_case */
  changed?: readonly string[]
  revision?: { id: string; number: number }
}

interface StoredChange extends Change {
  /** ISO 8601: the row's `updated_at`, or slightly later in the same transaction */
  at: string
}

export interface DeploymentChange {
  what: ChangeWord
  actor: EventActor
  changed: readonly string[]
  revision: { id: string; number: number } | null
  at: Date
}

export const storedChange = ({ what, actor, changed = [], revision }: Change, now: Date): object =>
  ({ what, actor, changed, ...(revision && { revision }), at: now.toISOString() }) satisfies StoredChange

/** How much earlier than `updated_at` a stored change may be. Clock corrections cause such differences. */
const TOLERANCE_MS = 1_000

export const CHANGE_FIELDS = { lastChange: true, updatedAt: true } as const

/** Returns null if the last change is unknown: an older server, which does not store it, made it. */
export function lastChangeOf({
  lastChange,
  updatedAt,
}: {
  lastChange: unknown
  updatedAt: Date
}): DeploymentChange | null {
  const stored = lastChange as StoredChange | null
  if (!stored || new Date(stored.at).getTime() + TOLERANCE_MS < updatedAt.getTime()) return null
  const { what, actor, changed = [], revision = null } = stored
  // written by a newer server
  if (!Object.hasOwn(DEPLOYMENT_CHANGES, what) || !isActorKind(actor.kind)) return null
  return { what, actor, changed, revision, at: updatedAt }
}
