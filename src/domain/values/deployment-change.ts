/**
 * What somebody did last to a deployment, and who: stored with its row, so that a list can show it of each. What work does to it is no
 * change; the whole history is in the log of events.
 */
import { type EventActor, isActorKind } from './event-actor.ts'

/** Each with what it means, for people. */
export const DEPLOYMENT_CHANGES = {
  CREATED: 'It was made.',
  UPDATED: 'It was changed; `changed` names the fields. Without any, there is a new revision.',
  TAGGED: 'It has other tags.',
  PUSHED: 'A commit was pushed, which made a new revision.',
  REDEPLOYED: 'A revision of it was rolled out again: the rollback, too.',
  DELETED: 'Its deletion was asked for.',
} as const
export type ChangeWord = keyof typeof DEPLOYMENT_CHANGES

/** What a verb says of what it did. */
export interface Change {
  what: ChangeWord
  actor: EventActor
  /** names of fields, in snake_case */
  changed?: readonly string[]
  /** the revision that was rolled out again, and its number */
  revision?: { id: string; number: number }
}

/** As it is stored. */
interface StoredChange extends Change {
  /** ISO 8601: the row's `updated_at`, or a moment later in the same transaction */
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

/** ms. So much earlier it still counts as the same change: clocks are put right now and then. */
const TOLERANCE_MS = 1_000

/** The columns that it is in. */
export const CHANGE_FIELDS = { lastChange: true, updatedAt: true } as const

/** Null: nobody knows, since a server of before, which does not note it, has changed the deployment last. */
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
  // words of a newer server
  if (!Object.hasOwn(DEPLOYMENT_CHANGES, what) || !isActorKind(actor.kind)) return null
  return { what, actor, changed, revision, at: updatedAt }
}
