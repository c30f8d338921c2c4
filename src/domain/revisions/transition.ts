/**
 * The only writer of a revision's status (design rule 3). It looks the move up in the state table, updates
 * on the condition that the status is still what the caller saw, and hands the event to the transaction.
 */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { Because } from '../because.ts'
import type { Tx } from '../context.ts'
import { ConflictError } from '../errors.ts'
import { canMove } from './lifecycle.ts'

const NOTHING_TO_SAY = { reason: null, message: null }

/** What a transition needs to know of the revision. */
export interface Movable {
  id: string
  deploymentId: string
  status: RevisionStatus
  attempt: number
}

export interface Move {
  to: RevisionStatus
  /** why it failed, was skipped, or what it waits for */
  because?: Because | null
  /** who did it; absent: the system */
  actor?: string | null
  /** a redeploy begins a new attempt under a new rollout number */
  rollout?: number
}

/**
 * Moves `revision` and updates the object in place, so that the caller goes on with what is stored.
 * Throws ConflictError when the table has no such move or when somebody else moved it first.
 */
export async function transition(tx: Tx, workspaceId: string, revision: Movable, move: Move): Promise<void> {
  const { to, actor = null } = move
  const { reason, message } = move.because ?? NOTHING_TO_SAY
  if (!canMove(revision.status, to))
    throw new ConflictError(`A revision that is ${revision.status} can't become ${to}.`)
  const attempt = revision.attempt + (move.rollout === undefined ? 0 : 1)
  const now = tx.now()
  const updated = await tx.sql.revision.updateMany({
    where: { id: revision.id, status: revision.status },
    data: {
      status: to,
      reason,
      reasonSince: reason && now,
      statusMessage: message,
      statusSince: now,
      updatedAt: now,
      attempt,
      ...(move.rollout === undefined ? {} : { rollout: move.rollout }),
      ...(to === 'DEPLOYED' ? { deployedAt: now } : {}),
    },
  })
  if (updated.count === 0) throw new ConflictError(`The revision is no longer ${revision.status}.`)
  tx.emit({
    workspaceId,
    type: 'revision.status',
    deploymentId: revision.deploymentId,
    revisionId: revision.id,
    from: revision.status,
    to,
    reason,
    message,
    attempt,
    actor,
  })
  Object.assign(revision, {
    status: to,
    reason,
    statusMessage: message,
    attempt,
    ...(move.rollout === undefined ? {} : { rollout: move.rollout }),
  })
}

/** Says what a waiting revision waits for, without a move. Writes only what is new; `reason_since` stays with its reason. */
export async function explain(
  tx: Tx,
  revision: { id: string; status: RevisionStatus; reason: string | null; statusMessage: string | null },
  because: Because | null,
): Promise<void> {
  const { reason, message } = because ?? NOTHING_TO_SAY
  if (revision.reason === reason && revision.statusMessage === message) return
  await tx.sql.revision.updateMany({
    where: { id: revision.id, status: revision.status },
    data: {
      reason,
      statusMessage: message,
      ...(revision.reason === reason ? {} : { reasonSince: reason && tx.now() }),
    },
  })
  Object.assign(revision, { reason, statusMessage: message })
}
