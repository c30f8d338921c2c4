/** Whose build it is: every call of a builder is checked against lease, fencing token and scope by what is here. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type Held, readHeld } from '../claims/held.ts'
import { giveBackTaken } from '../claims/liveness.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { HeldClaim } from '../repositories/lease.ts'
import { lockById } from '../repositories/locks.ts'
import type { Core, Tx } from '../transaction/context.ts'
import { type BuilderScope, ofBuilder } from './scope.ts'

/** A condition on steps `s` of deployments `d`: the lease of this claim holds, and the build is still wanted. */
export const isBuilding = (scope: BuilderScope, claimId: Prisma.Sql, token: Prisma.Sql): Prisma.Sql => Prisma.sql`
  s.builder_claim_id = ${claimId} AND s.builder_token = ${token} AND s.builder_lease_expires_at > now()
  AND s.finished_at IS NULL AND d.torn_down_at IS NULL AND ${ofBuilder(scope)}`

/** The same, for one claim. */
export const isBuildingUnder = (scope: BuilderScope, { claimId, token }: HeldClaim): Prisma.Sql =>
  isBuilding(scope, Prisma.sql`${claimId}::uuid`, Prisma.sql`${token}::numeric`)

/** With its step, which is there. */
type HeldBuild = Held & { asked: NonNullable<Held['asked']> }

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
    WHERE s.builder_claim_id = ${claimId}::uuid AND s.builder_token = ${token}::numeric AND ${ofBuilder(scope)}`
  const [found] = await tx.query<{ id: string; deploymentId: string }>({ name, text }, values)
  const deployment = found && (await lockById(tx, found.deploymentId))
  if (!deployment) throw new ClaimLostError()
  const reading = (await readHeld(tx, null, [{ deployment, stepId: found.id }])).get(deployment.id)!
  if ('error' in reading) throw reading.error
  const { asked, begunAt } = reading.held
  // it may have been offered again, or taken by somebody else, before the lock was held
  const isOurs = asked?.builderClaimId === claimId
  const holds = asked?.finishedAt ? over : (asked?.builderLeaseExpiresAt ?? begunAt) > begunAt
  if (!asked || !isOurs || !holds) throw new ClaimLostError()
  return { ...reading.held, asked }
}

/** Does what a builder asks with its claim; where that is refused because the claim is lost, its try is given back. */
export async function withBuildersTryBack<T>(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ClaimLostError) await giveBuildersTriesBack(core, scope, [claim.claimId])
    throw error
  }
}

/** A builder that lost its lease was merely slow: the tries that it took under these claims do not count. Once each. */
export async function giveBuildersTriesBack(
  core: Core,
  scope: BuilderScope,
  claimIds: readonly string[],
): Promise<void> {
  const whose = Prisma.sql`s.offered_at IS NOT NULL AND ${ofBuilder(scope)}`
  const holds = Prisma.sql`CASE WHEN s.builder_lease_expires_at > now() THEN s.builder_claim_id END`
  await giveBackTaken(core, claimIds, { whose, holds })
}
