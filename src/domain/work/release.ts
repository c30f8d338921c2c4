/** Gives leases back, so that somebody else can take them at once. */
import { type Core, type Tx, transaction } from '../context.ts'
import { heard } from './heard.ts'
import { type HeldClaim, NO_LEASE, ofScope, type Scope, withClaim } from './lease.ts'

/** A holder lets go in good order: the try of a step under way is not counted. Throws ClaimLostError. */
export async function release(core: Core, scope: Scope, claim: HeldClaim): Promise<void> {
  const work = (tx: Tx) =>
    withClaim(tx, scope, claim, async (deployment) => {
      if (deployment.busyStepId) {
        await tx.sql.$executeRaw`
          UPDATE steps SET tries = greatest(tries - 1, tries_given_back), taken_by = array_remove(taken_by, ${claim.claimId}::uuid)
          WHERE id = ${deployment.busyStepId}::uuid AND finished_at IS NULL`
      }
      await tx.sql.deployment.update({
        where: { id: deployment.id },
        data: NO_LEASE,
      })
      tx.wakeWorkers(deployment.listenerId)
    })
  await heard(core, scope, claim, () => transaction(core, work))
}

/** A holder that is known to be dead (its process is gone from this machine): nobody has to wait for its leases. The tries count. */
export async function releaseHolder(core: Core, scope: Scope, holder: string): Promise<void> {
  await transaction(core, async (tx) => {
    const count = await tx.sql.$executeRaw`
      UPDATE deployments d SET claim_id = NULL, lease_holder = NULL, lease_expires_at = NULL, busy_step_id = NULL
      WHERE lease_holder = ${holder} AND ${ofScope(scope)}`
    if (count > 0) tx.wakeWorkers(scope.listenerId)
  })
}
