/**
 * Claims: leases on deployments that have no holder and need one, because something must be serving or there is
 * a step to take. Several claim at once without waiting for each other (SKIP LOCKED).
 */

import { lookUntil } from '../../platform/async/look-until.ts'
import type { Core } from '../context/context.ts'
import { transaction } from '../context/context.ts'
import { ClaimLostError } from '../core/errors.ts'
import type { Claim, ClaimRequest } from '../protocol/protocol.ts'
import { freeToLease, leaseFree } from '../rows/deployment.ts'
import type { Scope } from '../rows/lease.ts'
import { lockClaimed } from '../rows/locks.ts'
import { assign } from './assignment.ts'
import { listenerSeen, triesOfReturning } from './liveness.ts'
import { release } from './release.ts'

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
export async function giveBack(core: Core, scope: Scope, claims: readonly { claimId: string; token: string }[]) {
  for (const one of claims) {
    await release(core, scope, one).catch((error) => {
      if (!(error instanceof ClaimLostError))
        core.log.error(
          { err: error, claimId: one.claimId },
          'a claim could not be given back; its lease has to run out',
        )
    })
  }
}

async function handOut(
  core: Core,
  scope: Scope,
  leased: Leased[],
  leaseSeconds: number,
  signal: AbortSignal | undefined,
): Promise<Claim[]> {
  const claims: Claim[] = []
  for (const { id, workspaceId, name, k8sNamespace, provisioned, claimId, token } of leased) {
    if (signal?.aborted) break
    const lease = { claimId, token: String(token) }
    try {
      const assignment = await transaction(core, async (tx) => assign(core, tx, await lockClaimed(tx, scope, lease)))
      claims.push({
        ...lease,
        deployment: { id, workspaceId, name, k8sNamespace, provisioned },
        leaseSeconds,
        ...assignment,
      })
    } catch (error) {
      // the others have been leased, too: they must get to their holder. This one is free again when its lease is over
      if (!(error instanceof ClaimLostError))
        core.log.error({ err: error, deploymentId: id }, 'a deployment could not be handed to a worker')
    }
  }
  if (!signal?.aborted) return claims
  await giveBack(
    core,
    scope,
    leased.map(({ claimId, token }) => ({ claimId, token: String(token) })),
  )
  return []
}

function lease(core: Core, scope: Scope, { holder, max, leaseSeconds, version }: ClaimRequest): Promise<Leased[]> {
  return core.db.$queryRaw<Leased[]>`
    WITH ${listenerSeen(scope, version)} ${freeToLease(scope, Math.min(max, MOST_AT_ONCE))}, ${triesOfReturning(holder)}
    ${leaseFree(holder, leaseSeconds)}
    RETURNING d.id, d.workspace_id AS "workspaceId", d.name, d.k8s_namespace AS "k8sNamespace",
              d.provisioned_at IS NOT NULL AS provisioned, d.claim_id AS "claimId", d.lease_token AS token,
              free.claim_id IS NOT NULL AS "ranOut"`
}
