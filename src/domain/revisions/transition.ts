/**
 * The only writer of a revision's status (docs/architecture.md#rules). It checks the state table, updates only if the status
 * is unchanged, and adds the event to the transaction.
 */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { ConflictError } from '../errors/errors.ts'
import type { Tx } from '../transaction/context.ts'
import type { ActorRef } from '../values/event-types.ts'
import type { Explanation } from '../values/explanation.ts'
import { canMove } from '../values/lifecycle.ts'
import type { RuntimeConfig } from './runtime-config.ts'
import { traceIdOfRevision, traceRollout } from './traces.ts'

const NO_EXPLANATION = { reason: null, message: null }

export interface Movable {
  id: string
  deploymentId: string
  status: RevisionStatus
  number: number
  attempt: number
  rolloutAt: Date | null
  traceparent: string | null
}

export interface Move {
  to: RevisionStatus
  /** why it failed or was skipped, or what it waits for */
  explanation?: Explanation | null
  /** absent: the system */
  actor?: ActorRef | undefined
  /** for a superseded revision, the revision that superseded it */
  supersededById?: string | undefined
  /** a redeploy starts a new attempt with a new rollout number and its trace */
  again?: RuntimeConfig & { rollout: number; traceparent: string | null }
}

/**
 * Moves `revision` and returns the new row. Throws ConflictError if the table lacks the move, or, at this or at the write,
 * if another transaction moved it first.
 */
export function transition<R extends Movable>(tx: Tx, workspaceId: string, revision: Readonly<R>, move: Move): R {
  const { to, actor } = move
  const { reason, message } = move.explanation ?? NO_EXPLANATION
  if (!canMove(revision.status, to))
    throw new ConflictError(`A revision that is ${revision.status} can't become ${to}.`)
  const attempt = revision.attempt + (move.again ? 1 : 0)
  const now = tx.now()
  const stored = {
    reason,
    reasonSince: reason && now,
    statusMessage: message,
    statusSince: now,
    updatedAt: now,
    attempt,
    ...(move.supersededById ? { supersededById: move.supersededById } : {}),
    ...(move.again
      ? { ...move.again, supersededById: null, rolloutAt: now, rolloutActor: actor ? { ...actor } : null }
      : {}),
    ...(to === 'DEPLOYED' ? { deployedAt: now } : {}),
  }
  tx.unit.update('revision', revision.id, { status: to, ...stored }, revision.status)
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
    traceId: traceIdOfRevision({ ...revision, ...move.again }),
    actor,
  })
  traceRollout(tx, revision, to, reason)
  return { ...revision, status: to, ...stored }
}

/** Stores what a waiting revision waits for, if that changed. `reason_since` changes only with the reason. */
export function explainWait(
  tx: Tx,
  revision: {
    id: string
    deploymentId: string
    status: RevisionStatus
    reason: string | null
    statusMessage: string | null
  },
  explanation: Explanation | null,
): void {
  const { reason, message } = explanation ?? NO_EXPLANATION
  if (revision.reason === reason && revision.statusMessage === message) return
  tx.unit.update('revision', revision.id, {
    reason,
    statusMessage: message,
    ...(revision.reason === reason ? {} : { reasonSince: reason && tx.now() }),
  })
}
