/** A builder lets go of a build in good order: its try is not counted, and others can have it at once. */

import type { HeldClaim } from '../repositories/lease.ts'
import { offer } from '../rollouts/offer.ts'
import { untakeStep } from '../rollouts/steps.ts'
import { type Core, transaction } from '../transaction/context.ts'
import { lockBuild, withBuildersTryBack } from './lease.ts'
import type { BuilderScope } from './scope.ts'

/** Throws ClaimLostError. */
export function releaseBuild(core: Core, scope: BuilderScope, claim: HeldClaim): Promise<void> {
  return withBuildersTryBack(core, scope, claim, () =>
    transaction(core, async (tx) => {
      const { deployment, asked } = await lockBuild(tx, scope, claim, { over: false })
      untakeStep(tx, asked, claim.claimId)
      await offer(tx, deployment, asked)
    }),
  )
}
