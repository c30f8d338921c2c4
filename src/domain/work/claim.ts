/**
 * Claims: leases on deployments that have no holder and need one, because something must be serving or there is
 * a step to take. Several claim at once without waiting for each other (SKIP LOCKED).
 */
import type { Core } from '../context.ts'
import { transaction } from '../context.ts'
import { ClaimLostError } from '../errors.ts'
import { lookUntil } from '../news.ts'
import { assign } from './assign.ts'
import { comesBack } from './heard.ts'
import { LEASE_HOLDS, ofScope, type Scope, withClaim } from './lease.ts'
import type { Claim, ClaimRequest } from './protocol.ts'
import { release } from './release.ts'
import { seen } from './seen.ts'

interface Leased {
  id: string
  workspaceId: string
  name: string
  k8sNamespace: string | null
  provisioned: boolean
  claimId: string
  token: bigint
  /** somebody had held it, and let its lease run out */
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
  return (await lookUntil(core.news, scope.listenerId, request.waitSeconds ?? 0, signal, look, enter)) ?? []
}

/** Nobody has heard of these claims: they are free again at once, and no try is counted. */
export async function giveBack(core: Core, scope: Scope, claims: readonly { claimId: string; token: string }[]) {
  for (const held of claims) {
    await release(core, scope, held).catch((error) => {
      if (!(error instanceof ClaimLostError))
        core.log.error(
          { err: error, claimId: held.claimId },
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
    const held = { claimId, token: String(token) }
    try {
      const assignment = await transaction(core, (tx) =>
        withClaim(tx, scope, held, (deployment) => assign(core, tx, deployment)),
      )
      claims.push({
        ...held,
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

/** Those that had the fewest leases first, then the oldest: one that is leased again and again keeps nobody waiting. */
function lease(core: Core, scope: Scope, { holder, max, leaseSeconds, version }: ClaimRequest): Promise<Leased[]> {
  return core.db.$queryRaw<Leased[]>`
    WITH ${seen(scope, version)} free AS MATERIALIZED (
      SELECT d.id, d.claim_id, d.lease_holder FROM deployments d
      WHERE d.torn_down_at IS NULL AND ${ofScope(scope)} AND (d.lease_expires_at IS NULL OR d.lease_expires_at < now()) AND NOT coalesce(${LEASE_HOLDS}, false)
        AND (d.active_revision_id IS NOT NULL OR EXISTS (
          SELECT 1 FROM steps s WHERE s.deployment_id = d.id AND s.finished_at IS NULL AND (s.not_before IS NULL OR s.not_before <= now())))
      ORDER BY d.lease_token, d.created_at, d.id LIMIT ${Math.min(max, MOST_AT_ONCE)} FOR NO KEY UPDATE SKIP LOCKED
    ), ${comesBack(holder)}
    UPDATE deployments d
    SET claim_id = gen_random_uuid(), lease_holder = ${holder}, lease_token = d.lease_token + 1,
        lease_expires_at = now() + make_interval(secs => ${leaseSeconds}::float8), busy_step_id = NULL
    FROM free WHERE d.id = free.id
    RETURNING d.id, d.workspace_id AS "workspaceId", d.name, d.k8s_namespace AS "k8sNamespace",
              d.provisioned_at IS NOT NULL AS provisioned, d.claim_id AS "claimId", d.lease_token AS token,
              free.claim_id IS NOT NULL AS "ranOut"`
}
