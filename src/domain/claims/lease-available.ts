/** Leases available deployments and assigns their work in one transaction, which skips locked ones. */
import { randomUUID } from 'node:crypto'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import type { Assignment, ClaimRequest } from '../protocol/protocol.ts'
import { freeToLease, leased } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { BATCH_LOCK_TIMEOUT_MS, type LockedDeployment, lockedFrom } from '../repositories/locks.ts'
import { type Core, type Tx, transaction } from '../transaction/context.ts'
import { DEPLOYMENT_COLUMNS } from '../transaction/tables.ts'
import { assign, refusedKinds } from './assignment.ts'
import { readClaimStates } from './claim-state.ts'
import { type Outcome, withoutHolderWakeups } from './claim-work.ts'
import { listenerSeen, recordLapsedLease } from './liveness.ts'

export interface NewClaim extends HeldClaim {
  deployment: LockedDeployment
  /** before the lease */
  before: LockedDeployment
  /** the assignment, or why there is none; null: not requested */
  outcome: Outcome<Assignment> | null
}

/** Small enough to be handed out before the first lease ends, and to fit into memory. */
const MAX_PER_CALL = 100

/** `assigns`: also takes and returns the work. */
export function leaseAvailable(core: Core, scope: Scope, request: ClaimRequest, assigns: boolean): Promise<NewClaim[]> {
  return transaction(core, async (tx) => {
    const free = await lockAvailable(tx, scope, request, refusedKinds(core, scope))
    if (free.length === 0) return []
    const requests = free.map(({ deployment }) => ({ deployment }))
    // without assignments nothing is read, because reading may fail
    const readings = assigns ? await readClaimStates(tx, core.keyring, requests) : null
    const own = withoutHolderWakeups(tx)
    const taken: NewClaim[] = []
    for (const { deployment: before, begunAt } of free) {
      recordLapsedLease(tx, before, request.holder)
      const until = new Date(begunAt.getTime() + request.leaseSeconds * 1000)
      const deployment = leased(tx, before, { claimId: randomUUID(), holder: request.holder, until })
      const reading = readings?.get(before.id)
      let outcome: NewClaim['outcome'] = null
      if (reading && 'error' in reading) outcome = reading
      else if (reading) outcome = { answer: await assign(core, own, { ...reading.state, deployment }, deployment) }
      const { claimId, leaseToken } = deployment
      taken.push({ claimId: claimId!, token: String(leaseToken), deployment, before, outcome })
    }
    return taken
  })
}

interface Available {
  deployment: LockedDeployment
  /** when the transaction began, by the database's clock */
  begunAt: Date
}

/** Locks available deployments, and sets a short lock timeout for the rest of the transaction. */
async function lockAvailable(
  tx: Tx,
  scope: Scope,
  request: ClaimRequest,
  refused: readonly StepKind[],
): Promise<Available[]> {
  const { text, values } = Prisma.sql`
    WITH ${listenerSeen(scope, request)} ${freeToLease(scope, Math.min(request.max, MAX_PER_CALL), refused)}
    SELECT ${Prisma.raw(DEPLOYMENT_COLUMNS)}, now() AS "begunAt"
    FROM free d, set_config('lock_timeout', ${String(BATCH_LOCK_TIMEOUT_MS)}, true) AS limited`
  const name = `lock free deployments of ${scope.listenerId === null ? 'no' : 'a'} listener${refused.length > 0 ? ', some refused' : ''}`
  const rows = await tx.query<Deployment & { begunAt: Date }>({ name, text }, values)
  return rows.map(({ begunAt, ...row }) => ({ deployment: lockedFrom(row), begunAt }))
}
