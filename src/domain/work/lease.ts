/** Whose claim it is: every call of the data plane is checked here against lease, fencing token and scope. */
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import { ClaimLostError } from '../errors.ts'

/** Whose deployments a holder may have: those of one listener, or (null) those without one, for the built-in worker. */
export interface Scope {
  listenerId: string | null
}

/** A condition on deployments `d`, in a form that an index answers (IS NOT DISTINCT FROM is none). */
export function ofScope({ listenerId }: Scope): Prisma.Sql {
  return listenerId === null ? Prisma.sql`d.listener_id IS NULL` : Prisma.sql`d.listener_id = ${listenerId}::uuid`
}

/** The lease of deployment `d` is not over. It may have been renewed beside its row, while that was locked (heartbeat.ts). */
export const LEASE_HOLDS = Prisma.sql`(
  d.lease_expires_at > now() OR EXISTS (SELECT 1 FROM lease_renewals x WHERE x.claim_id = d.claim_id AND x.expires_at > now()))`

export interface HeldClaim {
  claimId: string
  /** fencing token, decimal */
  token: string
}

/**
 * Locks the claim's deployment and runs `work` on it. Throws ClaimLostError when the lease is over, the token is
 * old or the deployment is not of this scope; nothing was changed then.
 */
export async function withClaim<T>(
  tx: Tx,
  scope: Scope,
  claim: HeldClaim,
  work: (deployment: Deployment) => Promise<T>,
): Promise<T> {
  const [row] = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT d.id FROM deployments d
    WHERE d.claim_id = ${claim.claimId}::uuid AND d.lease_token = ${claim.token}::numeric AND ${LEASE_HOLDS}
      AND d.torn_down_at IS NULL AND ${ofScope(scope)}
    FOR NO KEY UPDATE`
  if (!row) throw new ClaimLostError()
  return work(await tx.sql.deployment.findUniqueOrThrow({ where: { id: row.id } }))
}

/** Gives the lease up, whoever has it. The fencing token stays: it only grows. */
export const NO_LEASE = { claimId: null, leaseHolder: null, leaseExpiresAt: null, busyStepId: null } as const
