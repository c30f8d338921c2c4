/** The builds that a builder may take, and the check of its calls against lease, fencing token and scope. */
import { Prisma } from '../../generated/prisma/client.ts'
import { type ClaimState, readClaimStates } from '../claims/claim-state.ts'
import { lostTryReturner, returnTakenTries } from '../claims/liveness.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { HeldClaim } from '../repositories/lease.ts'
import { lockById, toChangeOrSkip } from '../repositories/locks.ts'
import { offerAgain } from '../rollouts/builder-offers.ts'
import { returnStep } from '../rollouts/steps.ts'
import { requireBuilder } from '../transaction/access.ts'
import {
  buildersOf,
  type Core,
  type ReadCore,
  type RequestContext,
  type Tx,
  transaction,
} from '../transaction/context.ts'

export interface BuilderScope {
  /** of the API key */
  keyId: string
  organizationId: string
  /** null: all workspaces of the organization */
  workspaceId: string | null
}

/** First line of a builder's calls. Throws ForbiddenError for any other key. */
export function scopeOf({ actor }: Pick<RequestContext, 'actor'>): BuilderScope {
  requireBuilder({ actor })
  return { keyId: actor.subject, organizationId: actor.organizationId, workspaceId: actor.workspaceId }
}

/** A condition on deployments `d`. */
export function builderScopeSql({ organizationId, workspaceId }: BuilderScope): Prisma.Sql {
  return workspaceId === null
    ? Prisma.sql`d.workspace_id IN (SELECT w.id FROM workspaces w WHERE w.organization_id = ${organizationId}::uuid)`
    : Prisma.sql`d.workspace_id = ${workspaceId}::uuid`
}

/** The channel that wakes the builder's waiting calls when its builds or offers change. */
export const wakeChannel = ({ organizationId, workspaceId }: BuilderScope): string =>
  buildersOf(workspaceId ?? organizationId)

/**
 * A part of a WITH clause: records that a builder called with this key, so steps may be offered. Writes at most every 20 s,
 * and skips a locked key.
 */
export const builderSeen = ({ keyId }: BuilderScope): Prisma.Sql => Prisma.sql`
  seen AS (
    UPDATE api_keys SET builder_seen_at = now() WHERE id IN (
      SELECT id FROM api_keys
      WHERE id = ${keyId}::uuid AND (builder_seen_at IS NULL OR builder_seen_at < now() - interval '20 seconds')
      ${toChangeOrSkip('api_keys')})
  )`

/** A condition on steps `s` of deployments `d`: the claim's lease holds, and the step is still open. */
export const buildHeldSql = (scope: BuilderScope, claimId: Prisma.Sql, token: Prisma.Sql): Prisma.Sql => Prisma.sql`
  s.builder_claim_id = ${claimId} AND s.builder_token = ${token} AND s.builder_lease_expires_at > now()
  AND s.finished_at IS NULL AND d.torn_down_at IS NULL AND ${builderScopeSql(scope)}`

/** The same for one claim. */
export const buildHeldUnderSql = (scope: BuilderScope, { claimId, token }: HeldClaim): Prisma.Sql =>
  buildHeldSql(scope, Prisma.sql`${claimId}::uuid`, Prisma.sql`${token}::numeric`)

type HeldBuild = ClaimState & { requestedStep: NonNullable<ClaimState['requestedStep']> }

/** Locks a claim's deployment and reads it with its step. `over`: accepts a step that has ended. Throws ClaimLostError. */
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
  const { requestedStep: step, begunAt } = reading.state
  // before the lock, the step may have been offered again or taken by another builder
  const isOurs = step?.builderClaimId === claimId
  const holds = step?.finishedAt ? over : (step?.builderLeaseExpiresAt ?? begunAt) > begunAt
  if (!step || !isOurs || !holds) throw new ClaimLostError()
  return { ...reading.state, requestedStep: step }
}

export const returningLostTry = lostTryReturner(returnLostTries)

/** Returns the tries taken under these claims, once each: the builder lost its lease but was merely slow. */
export async function returnLostTries(core: ReadCore, scope: BuilderScope, claimIds: readonly string[]): Promise<void> {
  const stepFilter = Prisma.sql`s.offered_at IS NOT NULL AND ${builderScopeSql(scope)}`
  const holds = Prisma.sql`CASE WHEN s.builder_lease_expires_at > now() THEN s.builder_claim_id END`
  await returnTakenTries(core, claimIds, { stepFilter, holds })
}

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
