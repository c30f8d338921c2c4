/**
 * Raises a fencing token that is lower than one the supervisors have seen. That happens after a restore from a backup, which
 * lost newer tokens.
 */

import { ClaimLostError } from '../errors/errors.ts'
import { raiseHeld } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import type { Core } from '../transaction/context.ts'

/** Raises the claim's token above `seen` (decimal) and returns it. Throws ClaimLostError. */
export async function raiseToken(core: Core, scope: Scope, claim: HeldClaim, seen: string): Promise<string> {
  const [raised] = await core.db.$queryRaw<{ token: bigint }[]>`
    ${raiseHeld(scope, claim, seen)} RETURNING d.lease_token AS token`
  if (!raised) throw new ClaimLostError()
  return String(raised.token)
}
