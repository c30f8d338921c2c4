/** Hands out claims: leases on deployments that need a holder, and releases them. Workers never wait for each other (SKIP LOCKED). */
import { randomUUID } from 'node:crypto'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { ClaimLostError, ConflictError, DomainError } from '../errors/errors.ts'
import type { Assignment, Claim, ClaimRequest } from '../protocol/protocol.ts'
import { freeToLease, leased, released, releasedAll } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { BATCH_LOCK_TIMEOUT_MS, type LockedDeployment, lockedFrom } from '../repositories/locks.ts'
import { returnStep } from '../rollouts/steps.ts'
import { type Core, type Tx, transaction, type WriteCore } from '../transaction/context.ts'
import { DEPLOYMENT_COLUMNS } from '../transaction/tables.ts'
import { assign, refusedKinds } from './assignment.ts'
import { loadedAggregate, readClaimStates } from './claim-state.ts'
import {
  type ClaimWork,
  forEachClaim,
  inOwnTransaction,
  type Outcome,
  unwrap,
  withoutHolderWakeups,
} from './claim-work.ts'
import { listenerSeen, pauseStepsOfDeadHolder, recordLapsedLease, returningLostTry } from './liveness.ts'

/**
 * Returns at most `max` claims (at most 100), each with its run and its step; empty if there is none within
 * `waitSeconds`. `signal`: the holder disconnected, and its new leases are released. `enter` takes a place in the
 * limit of waiting calls, or throws.
 */
export async function claim(
  core: Core,
  scope: Scope,
  request: ClaimRequest,
  signal?: AbortSignal,
  enter?: () => () => void,
): Promise<Claim[]> {
  const look = async () => {
    for (;;) {
      if (signal?.aborted) return null
      const taken = await take(core, scope, request)
      const lost = taken.filter(({ before }) => before.claimId !== null).length
      if (lost > 0) core.observer?.leasesLost(lost)
      const handedOut = await handOut(core, scope, taken, request, signal)
      // if none of these could be handed out, look for others behind them
      if (handedOut.length > 0) return handedOut
      if (taken.length === 0) return null
    }
  }
  return (await longPoll(core.notifier, scope.listenerId, request.waitSeconds ?? 0, signal, look, enter)) ?? []
}

/** Releases claims that never reached their holder. Their tries don't count. */
export async function giveBack(core: WriteCore, scope: Scope, claims: readonly HeldClaim[]): Promise<void> {
  const outcomes = await forEachClaim(core, scope, claims, RELEASE)
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome && 'error' in outcome && !(outcome.error instanceof ClaimLostError))
      core.log.error(
        { err: outcome.error, claimId: claims[i]!.claimId },
        'could not release a claim that was not delivered; it expires with its lease',
      )
  }
}

/** Leases and assigns in one transaction. If one deployment fails, leases all first, then assigns each separately. */
async function take(core: Core, scope: Scope, request: ClaimRequest): Promise<NewClaim[]> {
  try {
    return await leaseAvailable(core, scope, request, true)
  } catch (error) {
    const isOfNone = error instanceof DomainError && !(error instanceof ConflictError)
    if (isOfNone || databaseFailure(error) === 'lost') throw error
    return leaseAvailable(core, scope, request, false)
  }
}

async function handOut(
  core: Core,
  scope: Scope,
  taken: readonly NewClaim[],
  { holder, leaseSeconds }: ClaimRequest,
  signal: AbortSignal | undefined,
): Promise<Claim[]> {
  const claims = taken.map(({ claimId, token }) => ({ claimId, token }))
  const left = claims.filter((_, i) => taken[i]!.outcome === null)
  const work: ClaimWork<HeldClaim, Assignment> = {
    assigns: true,
    record(tx, claimState, { claimId }) {
      recordLapsedLease(tx, taken.find((one) => one.claimId === claimId)!.before, holder)
      return assign(core, tx, claimState, claimState.deployment)
    },
  }
  const later = left.length > 0 ? await forEachClaim(core, scope, left, work, () => signal?.aborted === true) : []
  if (signal?.aborted) {
    await giveBack(core, scope, claims)
    return []
  }
  return taken.flatMap(({ deployment, ...one }, i): Claim[] => {
    const outcome = one.outcome ?? later[left.indexOf(claims[i]!)]!
    const { id, workspaceId, name, addressName, k8sNamespace, provisionedAt } = deployment
    if ('answer' in outcome) {
      const shown = { id, workspaceId, name, addressName, k8sNamespace, provisioned: provisionedAt !== null }
      return [{ ...claims[i]!, deployment: shown, leaseSeconds, ...outcome.answer }]
    }
    // the other leases must reach their holder; this one expires
    if (!(outcome.error instanceof ClaimLostError))
      core.log.error({ err: outcome.error, deploymentId: id }, 'could not assign a deployment to a worker')
    return []
  })
}

interface NewClaim extends HeldClaim {
  deployment: LockedDeployment
  /** before the lease */
  before: LockedDeployment
  /** the assignment, or why there is none; null: not requested */
  outcome: Outcome<Assignment> | null
}

/** Small enough to be handed out before the first lease ends, and to fit into memory. */
const MAX_PER_CALL = 100

/** `assigns`: also takes and returns the work. */
function leaseAvailable(core: Core, scope: Scope, request: ClaimRequest, assigns: boolean): Promise<NewClaim[]> {
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

/** Releases a claim. The try of its running step does not count. Throws ClaimLostError. */
export async function release(core: Core, scope: Scope, claim: HeldClaim): Promise<void> {
  await returningLostTry(core, scope, claim, async () => unwrap(await inOwnTransaction(core, scope, claim, RELEASE)))
}

const RELEASE: ClaimWork<HeldClaim, void> = {
  assigns: false,
  async record(tx, { deployment }, { claimId }) {
    const busyWith = loadedAggregate(tx, deployment).steps.find(({ id }) => id === deployment.busyStepId)
    if (busyWith) returnStep(tx, busyWith, claimId)
    released(tx, deployment)
  },
}

/** Releases all leases of a dead holder, whose process is gone from this machine. */
export async function releaseHolder(core: WriteCore, scope: Scope, holder: string): Promise<void> {
  await transaction(core, async (tx) => {
    await pauseStepsOfDeadHolder(tx, scope, holder)
    if ((await releasedAll(tx, scope, holder)) > 0) tx.wakeWorkers(scope.listenerId)
  })
}
