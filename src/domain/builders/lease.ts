/** Whose build it is: every call of a builder is checked against lease, fencing token and scope by what is here. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type ClaimState, readClaimStates } from '../claims/claim-state.ts'
import { returnTakenTries } from '../claims/liveness.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { HeldClaim } from '../repositories/lease.ts'
import { lockById } from '../repositories/locks.ts'
import type { Core, Tx } from '../transaction/context.ts'
import { type BuilderScope, builderScopeSql } from './scope.ts'

/** A condition on steps `s` of deployments `d`: the lease of this claim holds, and the build is still wanted. */
export const buildHeldSql = (scope: BuilderScope, claimId: Prisma.Sql, token: Prisma.Sql): Prisma.Sql => Prisma.sql`
  s.builder_claim_id = ${claimId} AND s.builder_token = ${token} AND s.builder_lease_expires_at > now()
  AND s.finished_at IS NULL AND d.torn_down_at IS NULL AND ${builderScopeSql(scope)}`

/** The same, for one claim. */
export const buildHeldUnderSql = (scope: BuilderScope, { claimId, token }: HeldClaim): Prisma.Sql =>
  buildHeldSql(scope, Prisma.sql`${claimId}::uuid`, Prisma.sql`${token}::numeric`)

/** With its step, which is there. */
type HeldBuild = ClaimState & { requestedStep: NonNullable<ClaimState['requestedStep']> }

/**
 * Locks the deployment of a claim, and reads it with its step. `over`: whether one whose step has ended in the meantime is
 * answered, too. Throws ClaimLostError.
 */
export async function lockBuild(
  tx: Tx,
  scope: BuilderScope,
  { claimId, token }: HeldClaim,
  { over }: { over: boolean },
): Promise<HeldBuild> {
  const name = `find build of ${scope.workspaceId === null ? 'an organization' : 'a workspace'}`
  const { text, values } = Prisma.sql`
    SELECT s.id, s.deployment_id AS "deploymentId" FROM steps s JOIN deployments d ON d.id = s.deployment_id
    WHERE s.builder_claim_id = ${claimId}::uuid AND s.builder_token = ${token}::numeric AND ${builderScopeSql(scope)}`
  const [found] = await tx.query<{ id: string; deploymentId: string }>({ name, text }, values)
  const deployment = found && (await lockById(tx, found.deploymentId))
  if (!deployment) throw new ClaimLostError()
  const reading = (await readClaimStates(tx, null, [{ deployment, stepId: found.id }])).get(deployment.id)!
  if ('error' in reading) throw reading.error
  const { requestedStep: step, begunAt } = reading.held
  // it may have been offered again, or taken by somebody else, before the lock was held
  const isOurs = step?.builderClaimId === claimId
  const holds = step?.finishedAt ? over : (step?.builderLeaseExpiresAt ?? begunAt) > begunAt
  if (!step || !isOurs || !holds) throw new ClaimLostError()
  return { ...reading.held, requestedStep: step }
}

/** Does what a builder asks with its claim; where that is refused because the claim is lost, its try is given back. */
export async function returningLostTry<T>(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClaimLostError) await returnLostTries(core, scope, [claim.claimId])
    throw error
  }
}

/** A builder that lost its lease was merely slow: the tries that it took under these claims do not count. Once each. */
export async function returnLostTries(core: Core, scope: BuilderScope, claimIds: readonly string[]): Promise<void> {
  const whose = Prisma.sql`s.offered_at IS NOT NULL AND ${builderScopeSql(scope)}`
  const holds = Prisma.sql`CASE WHEN s.builder_lease_expires_at > now() THEN s.builder_claim_id END`
  await returnTakenTries(core, claimIds, { whose, holds })
}
