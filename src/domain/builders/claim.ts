/**
 * Hands out offered builds that no builder has, longest-offered first. Builders claim concurrently without waiting for each
 * other (SKIP LOCKED).
 */
import { randomUUID } from 'node:crypto'
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import { workOf } from '../claims/assignment.ts'
import { type ClaimState, loadedAggregate, readClaimStates } from '../claims/claim-state.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { BuilderClaim, BuilderClaimRequest } from '../protocol/builders.ts'
import { notifyHolder } from '../repositories/deployment.ts'
import type { HeldClaim } from '../repositories/lease.ts'
import { BATCH_LOCK_TIMEOUT_MS, type LockedDeployment, lockedFrom, toChangeOrSkip } from '../repositories/locks.ts'
import { traceOffer, traceparentOfStep } from '../revisions/traces.ts'
import { explainBuild } from '../rollouts/builder-offers.ts'
import { fail, isExhausted, WORKER_LOST } from '../rollouts/plan.ts'
import { readSituation, settle } from '../rollouts/reconcile.ts'
import { takeStep } from '../rollouts/steps.ts'
import { type Core, type ReadCore, type Tx, transaction } from '../transaction/context.ts'
import { DEPLOYMENT_COLUMNS } from '../transaction/tables.ts'
import { type BuilderScope, builderScopeSql, builderSeen, releaseBuild, wakeChannel } from './lease.ts'

/**
 * Returns at most `max` builds; empty if there is none within `waitSeconds`. `signal`: the builder disconnected. `enter`:
 * takes a place to wait in, or throws.
 */
export async function claimBuilds(
  core: Core,
  scope: BuilderScope,
  request: BuilderClaimRequest,
  signal?: AbortSignal,
  enter?: () => () => void,
): Promise<BuilderClaim[]> {
  const look = async () => {
    if (signal?.aborted || !(await isOffered(core, scope))) return null
    const taken = await takeOffered(core, scope, request)
    if (!signal?.aborted) return taken.length > 0 ? taken : null
    await giveBuildsBack(core, scope, taken)
    return null
  }
  return (await longPoll(core.notifier, wakeChannel(scope), request.waitSeconds ?? 0, signal, look, enter)) ?? []
}

/** Steps `s` of deployments `d` that the builder may take. */
const offeredSql = (scope: BuilderScope) => Prisma.sql`
  steps s JOIN deployments d ON d.id = s.deployment_id
  WHERE s.offered_at IS NOT NULL AND s.finished_at IS NULL AND s.offered_to = ${scope.organizationId}::uuid
    AND (s.builder_lease_expires_at IS NULL OR s.builder_lease_expires_at <= now())
    AND d.torn_down_at IS NULL AND ${builderScopeSql(scope)}`

/** The only statement while nothing is offered. */
async function isOffered(core: ReadCore, scope: BuilderScope): Promise<boolean> {
  const [row] = await core.db.$queryRaw<{ offered: boolean }[]>`
    WITH ${builderSeen(scope)} SELECT EXISTS (SELECT 1 FROM ${offeredSql(scope)}) AS offered`
  return row!.offered
}

/** Offers builds again that never reached their builder. Their tries don't count. */
export async function giveBuildsBack(core: Core, scope: BuilderScope, claims: readonly HeldClaim[]): Promise<void> {
  for (const { claimId, token } of claims) {
    await releaseBuild(core, scope, { claimId, token }).catch((error) => {
      if (!(error instanceof ClaimLostError))
        core.log.error(
          { err: error, claimId },
          'could not release a build that was not delivered; it expires with its lease',
        )
    })
  }
}

function takeOffered(core: Core, scope: BuilderScope, request: BuilderClaimRequest): Promise<BuilderClaim[]> {
  return transaction(core, async (tx) => {
    const free = await lockOffered(tx, scope, request.max)
    if (free.length === 0) return []
    const readings = await readClaimStates(
      tx,
      core.keyring,
      free.map((deployment) => ({ deployment })),
    )
    const claims: BuilderClaim[] = []
    for (const deployment of free) {
      const reading = readings.get(deployment.id)!
      if ('state' in reading) {
        claims.push(...(await take(core, tx, { ...reading.state, deployment }, request)))
        continue
      }
      core.log.error({ err: reading.error, deploymentId: deployment.id }, 'could not assign a build to a builder')
      // moves it to the end of the queue, so the next builds can be taken
      const step = offeredStep(tx, deployment)
      if (step) tx.unit.update('step', step.id, { offeredAt: tx.now() })
    }
    return claims
  })
}

/** Afterwards the transaction waits only shortly for any lock. */
async function lockOffered(tx: Tx, scope: BuilderScope, max: number): Promise<LockedDeployment[]> {
  const name = `lock offered builds of ${scope.workspaceId === null ? 'an organization' : 'a workspace'}`
  const { text, values } = Prisma.sql`
    WITH offered AS MATERIALIZED (
      SELECT d.* FROM ${offeredSql(scope)}
      ORDER BY s.offered_at, s.id LIMIT ${max} ${toChangeOrSkip('d')}
    )
    SELECT ${Prisma.raw(DEPLOYMENT_COLUMNS)} FROM offered d, set_config('lock_timeout', ${String(BATCH_LOCK_TIMEOUT_MS)}, true) AS limited`
  const rows = await tx.query<Deployment>({ name, text }, values)
  return rows.map(lockedFrom)
}

/** As read under the lock. */
const offeredStep = (tx: Tx, deployment: LockedDeployment) =>
  loadedAggregate(tx, deployment).steps.find(({ finishedAt, offeredAt }) => finishedAt === null && offeredAt !== null)

/** Empty: another builder was faster, or the step is exhausted and failed. */
async function take(
  core: Core,
  tx: Tx,
  claimState: ClaimState,
  { holder, leaseSeconds }: BuilderClaimRequest,
): Promise<BuilderClaim[]> {
  const { deployment, begunAt } = claimState
  const offered = offeredStep(tx, deployment)
  const isFree = !offered?.builderLeaseExpiresAt || offered.builderLeaseExpiresAt <= begunAt
  if (!offered || offered.revisionId === null || !isFree) return []
  if (isExhausted(offered)) {
    const situation = await readSituation(core, tx, deployment)
    await settle(core, tx, situation, fail(situation.state, WORKER_LOST))
    return []
  }
  const claimId = randomUUID()
  const step = takeStep(core, tx, offered, claimId)
  const builderToken = step.builderToken + 1n
  tx.unit.update('step', step.id, {
    builderClaimId: claimId,
    builderHolder: holder,
    builderToken,
    builderLeaseExpiresAt: new Date(begunAt.getTime() + leaseSeconds * 1000),
  })
  await explainBuild(tx, deployment, step, { reason: 'IN_PROGRESS', message: `Building on ${holder}.` })
  notifyHolder(tx, deployment)
  const { id, workspaceId, name } = deployment
  const traceparent = traceparentOfStep(tx, id, step)
  traceOffer(tx, id, offered)
  return [
    {
      claimId,
      token: String(builderToken),
      leaseSeconds,
      deployment: { id, workspaceId, name },
      stepId: step.id,
      tries: step.tries,
      secondsLeft: (step.deadlineAt!.getTime() - tx.now().getTime()) / 1000,
      revision: workOf(tx, claimState, offered.revisionId),
      ...(traceparent && { traceparent }),
    },
  ]
}
