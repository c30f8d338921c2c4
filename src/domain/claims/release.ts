/** Releases leases, so other workers can take the deployments immediately. */

import { released, releasedAll } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { returnStep } from '../rollouts/steps.ts'
import { type Core, transaction } from '../transaction/context.ts'
import { loadedAggregate } from './claim-state.ts'
import { type ClaimWork, inOwnTransaction, unwrap } from './claim-work.ts'
import { pauseStepsOfDeadHolder, returningLostTry } from './liveness.ts'

/** Releases a claim. The try of its running step does not count. Throws ClaimLostError. */
export async function release(core: Core, scope: Scope, claim: HeldClaim): Promise<void> {
  await returningLostTry(core, scope, claim, async () => unwrap(await inOwnTransaction(core, scope, claim, RELEASE)))
}

export const RELEASE: ClaimWork<HeldClaim, void> = {
  assigns: false,
  async record(tx, { deployment }, { claimId }) {
    const busyWith = loadedAggregate(tx, deployment).steps.find(({ id }) => id === deployment.busyStepId)
    if (busyWith) returnStep(tx, busyWith, claimId)
    released(tx, deployment)
  },
}

/** Releases all leases of a dead holder, whose process is gone from this machine. */
export async function releaseHolder(core: Core, scope: Scope, holder: string): Promise<void> {
  await transaction(core, async (tx) => {
    await pauseStepsOfDeadHolder(tx, scope, holder)
    if ((await releasedAll(tx, scope, holder)) > 0) tx.wakeWorkers(scope.listenerId)
  })
}
