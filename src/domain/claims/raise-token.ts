/**
 * A holder whose fencing token is lower than one that was seen where its agents are: the database was restored from a
 * backup, and has forgotten the tokens that it had given out since.
 */

import { ClaimLostError } from '../errors/errors.ts'
import { raiseHeld } from '../repositories/deployment.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import type { Core } from '../transaction/context.ts'

/** Raises the token of a claim above `seen` (decimal), if it is still held; answers the new one. Throws ClaimLostError. */
export async function raiseToken(core: Core, scope: Scope, claim: HeldClaim, seen: string): Promise<string> {
  const [raised] = await core.db.$queryRaw<{ token: bigint }[]>`
    ${raiseHeld(scope, claim, seen)} RETURNING d.lease_token AS token`
  if (!raised) throw new ClaimLostError()
  return String(raised.token)
}
