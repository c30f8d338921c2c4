/**
 * Claims: leases on deployments that have no holder and need one, because something must be serving or there is
 * a step to take. Several claim at once without waiting for each other (SKIP LOCKED).
 */

import { lookUntil } from '../../platform/async/look-until.ts'
import type { Core } from '../context/context.ts'
import { ClaimLostError } from '../core/errors.ts'
import type { Assignment, Claim, ClaimRequest } from '../protocol/protocol.ts'
import { freeToLease, leaseFree } from '../rows/deployment.ts'
import type { HeldClaim, Scope } from '../rows/lease.ts'
import { assign } from './assignment.ts'
import { forHeld, type HeldWork } from './for-held.ts'
import { listenerSeen, triesOfReturning } from './liveness.ts'
import { RELEASE } from './release.ts'

interface Leased {
  id: string
  workspaceId: string
  name: string
  k8sNamespace: string | null
  provisioned: boolean
  claimId: string
  token: bigint
  /** its last holder let the lease run out */
  ranOut: boolean
}

/** In one answer: so many are handed out long before the first of their leases ends, and fit into memory. */
const MOST_AT_ONCE = 100

/**
 * Returns at most `max` new claims (and at most 100), each with its run and its step taken; an empty list when there is
 * nothing, not even after `waitSeconds`. `signal`: the holder is gone; what was leased for it is free again.
 * `enter`: takes a place to wait in, or throws.
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
      const leased = await lease(core, scope, request)
      const lost = leased.filter(({ ranOut }) => ranOut).length
      if (lost > 0) core.observer?.leasesLost(lost)
      const handedOut = await handOut(core, scope, leased, request.leaseSeconds, signal)
      // when none of these could be handed out, others may wait behind them
      if (handedOut.length > 0) return handedOut
      if (leased.length === 0) return null
    }
  }
  return (await lookUntil(core.notifier, scope.listenerId, request.waitSeconds ?? 0, signal, look, enter)) ?? []
}

/** These claims never reached their holder: they are free again at once, and no try is counted. */
export async function giveBack(core: Core, scope: Scope, claims: readonly HeldClaim[]): Promise<void> {
  const outcomes = await forHeld(core, scope, claims, RELEASE)
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome && 'error' in outcome && !(outcome.error instanceof ClaimLostError))
      core.log.error(
        { err: outcome.error, claimId: claims[i]!.claimId },
        'a claim could not be given back; its lease has to run out',
      )
  }
}

async function handOut(
  core: Core,
  scope: Scope,
  leased: readonly Leased[],
  leaseSeconds: number,
  signal: AbortSignal | undefined,
): Promise<Claim[]> {
  const leases = leased.map(({ claimId, token }) => ({ claimId, token: String(token) }))
  const work: HeldWork<HeldClaim, Assignment> = {
    assigns: true,
    record: (tx, held) => assign(core, tx, held, held.deployment),
  }
  const outcomes = await forHeld(core, scope, leases, work, () => signal?.aborted === true)
  if (signal?.aborted) {
    await giveBack(core, scope, leases)
    return []
  }
  return leased.flatMap(({ id, workspaceId, name, k8sNamespace, provisioned }, i): Claim[] => {
    const outcome = outcomes[i]!
    if ('answer' in outcome) {
      const deployment = { id, workspaceId, name, k8sNamespace, provisioned }
      return [{ ...leases[i]!, deployment, leaseSeconds, ...outcome.answer }]
    }
    // the others have been leased, too: they must get to their holder. This one is free again when its lease is over
    if (!(outcome.error instanceof ClaimLostError))
      core.log.error({ err: outcome.error, deploymentId: id }, 'a deployment could not be handed to a worker')
    return []
  })
}

function lease(core: Core, scope: Scope, { holder, max, leaseSeconds, version }: ClaimRequest): Promise<Leased[]> {
  return core.db.$queryRaw<Leased[]>`
    WITH ${listenerSeen(scope, version)} ${freeToLease(scope, Math.min(max, MOST_AT_ONCE))}, ${triesOfReturning(holder)}
    ${leaseFree(holder, leaseSeconds)}
    RETURNING d.id, d.workspace_id AS "workspaceId", d.name, d.k8s_namespace AS "k8sNamespace",
              d.provisioned_at IS NOT NULL AS provisioned, d.claim_id AS "claimId", d.lease_token AS token,
              free.claim_id IS NOT NULL AS "ranOut"`
}
