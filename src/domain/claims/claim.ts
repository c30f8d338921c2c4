/** Hands out claims: leases on deployments that need a holder. Workers never wait for each other (SKIP LOCKED). */

import { longPoll } from '../../platform/async/long-poll.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { ClaimLostError, ConflictError, DomainError } from '../errors/errors.ts'
import type { Assignment, Claim, ClaimRequest } from '../protocol/protocol.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import type { Core } from '../transaction/context.ts'
import { assign } from './assignment.ts'
import { type ClaimWork, forEachClaim } from './claim-work.ts'
import { leaseAvailable, type NewClaim } from './lease-available.ts'
import { recordLapsedLease } from './liveness.ts'
import { RELEASE } from './release.ts'

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
export async function giveBack(core: Core, scope: Scope, claims: readonly HeldClaim[]): Promise<void> {
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
    const { id, workspaceId, name, k8sNamespace, provisionedAt } = deployment
    if ('answer' in outcome) {
      const shown = { id, workspaceId, name, k8sNamespace, provisioned: provisionedAt !== null }
      return [{ ...claims[i]!, deployment: shown, leaseSeconds, ...outcome.answer }]
    }
    // the other leases must reach their holder; this one expires
    if (!(outcome.error instanceof ClaimLostError))
      core.log.error({ err: outcome.error, deploymentId: id }, 'could not assign a deployment to a worker')
    return []
  })
}
