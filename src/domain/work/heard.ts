/**
 * A holder that lost its lease is heard of again: it was merely slow, and the try it had taken does not count (contract
 * 4). Otherwise a starved but healthy listener would use up a step's tries. The deadline still bounds the step.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { ClaimLostError } from '../errors.ts'
import { type HeldClaim, LEASE_HOLDS, ofScope, type Scope } from './lease.ts'

/** Does what a holder asks with its claim; where that is refused because the claim is lost, its try is given back. */
export async function heard<T>(core: Core, scope: Scope, claim: HeldClaim, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClaimLostError) await giveTriesBack(core, scope, [claim.claimId])
    throw error
  }
}

/** Gives back what was taken under these claims, once each. A claim whose lease holds (it named a wrong token) keeps its try. */
export async function giveTriesBack(core: Core, scope: Scope, claimIds: readonly string[]): Promise<void> {
  // rows are locked in one order: two holders may have had the same steps
  await core.db.$executeRaw`
    WITH taken AS (
      SELECT s.id, s.taken_by, CASE WHEN ${LEASE_HOLDS} THEN d.claim_id END AS holds
      FROM steps s JOIN deployments d ON d.id = s.deployment_id
      WHERE s.finished_at IS NULL AND s.taken_by && ${claimIds}::uuid[] AND ${ofScope(scope)}
      ORDER BY s.id FOR NO KEY UPDATE OF s
    ), back AS (
      SELECT t.id, array_agg(c.id) AS claims FROM taken t JOIN unnest(${claimIds}::uuid[]) AS c (id) ON c.id = ANY (t.taken_by)
      WHERE c.id IS DISTINCT FROM t.holds GROUP BY t.id
    )
    UPDATE steps s SET tries_given_back = s.tries_given_back + cardinality(back.claims),
      taken_by = ARRAY(SELECT unnest(s.taken_by) EXCEPT SELECT unnest(back.claims))
    FROM back WHERE s.id = back.id`
}

/** A part of a WITH clause: of the deployments in `free`, whose leases ran out, those that their last holder leases anew. */
export function comesBack(holder: string): Prisma.Sql {
  return Prisma.sql`
    back AS (
      UPDATE steps s SET tries_given_back = s.tries_given_back + 1, taken_by = array_remove(s.taken_by, free.claim_id)
      FROM free
      WHERE s.deployment_id = free.id AND s.finished_at IS NULL AND free.lease_holder = ${holder} AND free.claim_id = ANY (s.taken_by)
    )`
}
