/** Releases a build. Its try does not count, and other builders may take it immediately. */

import type { HeldClaim } from '../repositories/lease.ts'
import { offerAgain } from '../rollouts/builder-offers.ts'
import { returnStep } from '../rollouts/steps.ts'
import { type Core, transaction } from '../transaction/context.ts'
import { lockBuild, returningLostTry } from './lease.ts'
import type { BuilderScope } from './scope.ts'

/** Throws ClaimLostError. */
export function releaseBuild(core: Core, scope: BuilderScope, claim: HeldClaim): Promise<void> {
  return returningLostTry(core, scope, claim, () =>
    transaction(core, async (tx) => {
      const { deployment, requestedStep: step } = await lockBuild(tx, scope, claim, { over: false })
      returnStep(tx, step, claim.claimId)
      await offerAgain(tx, deployment, step)
    }),
  )
}
