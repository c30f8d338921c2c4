/**
 * Claims: leases on deployments that have no holder and need one, because something must be serving or there is
 * a step to take. Several claim at once without waiting for each other (SKIP LOCKED).
 */
import type { Core } from '../context.ts'
import { transaction } from '../context.ts'
import { ClaimLostError } from '../errors.ts'
import { assign } from './assign.ts'
import { type Scope, withClaim } from './lease.ts'
import type { Claim, ClaimRequest } from './protocol.ts'

interface Leased {
  id: string
  workspaceId: string
  name: string
  k8sNamespace: string | null
  provisioned: boolean
  claimId: string
  token: bigint
}

/** Returns at most `max` new claims, each with its run and its step taken; an empty list when there is nothing. */
export async function claim(core: Core, scope: Scope, request: ClaimRequest): Promise<Claim[]> {
  const leased = await lease(core, scope, request)
  const claims: Claim[] = []
  for (const { id, workspaceId, name, k8sNamespace, provisioned, claimId, token } of leased) {
    const held = { claimId, token: String(token) }
    try {
      const assignment = await transaction(core, (tx) =>
        withClaim(tx, scope, held, (deployment) => assign(core, tx, deployment)),
      )
      claims.push({
        ...held,
        deployment: { id, workspaceId, name, k8sNamespace, provisioned },
        leaseSeconds: request.leaseSeconds,
        ...assignment,
      })
    } catch (error) {
      // the others have been leased, too: they must get to their holder. This one is free again when its lease is over
      if (!(error instanceof ClaimLostError))
        core.log.error({ err: error, deploymentId: id }, 'a deployment could not be handed to a worker')
    }
  }
  return claims
}

function lease(core: Core, scope: Scope, request: ClaimRequest): Promise<Leased[]> {
  return core.db.$queryRaw<Leased[]>`
    WITH free AS MATERIALIZED (
      SELECT c.id FROM deployments c
      WHERE c.torn_down_at IS NULL AND c.listener_id IS NOT DISTINCT FROM ${scope.listenerId}::uuid
        AND (c.lease_expires_at IS NULL OR c.lease_expires_at < now())
        AND (c.active_revision_id IS NOT NULL OR EXISTS (
          SELECT 1 FROM steps s WHERE s.deployment_id = c.id AND s.finished_at IS NULL AND (s.not_before IS NULL OR s.not_before <= now())))
      ORDER BY c.created_at, c.id LIMIT ${request.max} FOR NO KEY UPDATE SKIP LOCKED
    )
    UPDATE deployments d
    SET claim_id = gen_random_uuid(), lease_holder = ${request.holder}, lease_token = d.lease_token + 1,
        lease_expires_at = now() + make_interval(secs => ${request.leaseSeconds}::float8), busy_step_id = NULL
    FROM free WHERE d.id = free.id
    RETURNING d.id, d.workspace_id AS "workspaceId", d.name, d.k8s_namespace AS "k8sNamespace",
              d.provisioned_at IS NOT NULL AS provisioned, d.claim_id AS "claimId", d.lease_token AS token`
}
