/** Gives leases back, so that somebody else can take them at once. */
import { type Core, type Tx, transaction } from '../context/context.ts'
import { untakeStep } from '../rollouts/steps.ts'
import { released, releasedAll } from '../rows/deployment.ts'
import type { HeldClaim, Scope } from '../rows/lease.ts'
import { lockClaimed } from '../rows/locks.ts'
import { withTriesBack } from './liveness.ts'

/** A holder lets go in good order: the try of a step under way is not counted. Throws ClaimLostError. */
export async function release(core: Core, scope: Scope, claim: HeldClaim): Promise<void> {
  const work = async (tx: Tx) => {
    const deployment = await lockClaimed(tx, scope, claim)
    if (deployment.busyStepId) await untakeStep(tx, deployment.busyStepId, claim.claimId)
    released(tx, deployment)
  }
  await withTriesBack(core, scope, claim, () => transaction(core, work))
}

/** A holder that is known to be dead (its process is gone from this machine): nobody has to wait for its leases. The tries count. */
export async function releaseHolder(core: Core, scope: Scope, holder: string): Promise<void> {
  await transaction(core, async (tx) => {
    if ((await releasedAll(tx, scope, holder)) > 0) tx.wakeWorkers(scope.listenerId)
  })
}
