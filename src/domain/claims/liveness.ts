/** Records that a listener is alive, and returns tries of holders that were only slow (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { ClaimRequest } from '../protocol/protocol.ts'
import { type HeldClaim, LEASE_HOLDS, ofScope, type Scope } from '../repositories/lease.ts'
import { type LockedDeployment, toChange, toChangeOrSkip } from '../repositories/locks.ts'
import { countsLosses, KINDS_COUNTING_LOSSES } from '../rollouts/plan.ts'
import { recordLostLease } from '../rollouts/steps.ts'
import type { Core, ReadCore, Tx } from '../transaction/context.ts'

/** Makes a function that runs a call under a claim. If the claim is lost, its try is returned. */
export const lostTryReturner =
  <S>(returnTries: (core: Core, scope: S, claimIds: readonly string[]) => Promise<void>) =>
  async <T>(core: Core, scope: S, { claimId }: HeldClaim, work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof ClaimLostError) await returnTries(core, scope, [claimId])
      throw error
    }
  }

export const returningLostTry = lostTryReturner(returnLostTries)

/** Returns the tries taken under these claims, once each. A claim with a valid lease (wrong token) keeps its try. */
export async function returnLostTries(core: ReadCore, scope: Scope, claimIds: readonly string[]): Promise<void> {
  const holds = Prisma.sql`CASE WHEN ${LEASE_HOLDS} THEN d.claim_id END`
  await returnTakenTries(core, claimIds, { stepFilter: ofScope(scope), holds })
}

/** `stepFilter`: a condition on steps `s` of deployments `d`; `holds`: the claim whose lease on the step holds, or NULL. */
export async function returnTakenTries(
  core: ReadCore,
  claimIds: readonly string[],
  { stepFilter, holds }: { stepFilter: Prisma.Sql; holds: Prisma.Sql },
): Promise<void> {
  // locks rows in one order, because two holders may have had the same steps
  await core.db.$executeRaw`
    WITH taken AS (
      SELECT s.id, s.taken_by, ${holds} AS holds
      FROM steps s JOIN deployments d ON d.id = s.deployment_id
      WHERE s.finished_at IS NULL AND s.taken_by && ${claimIds}::uuid[] AND ${stepFilter}
      ORDER BY s.id ${toChange('s')}
    ), back AS (
      SELECT t.id, array_agg(c.id) AS claims FROM taken t JOIN unnest(${claimIds}::uuid[]) AS c (id) ON c.id = ANY (t.taken_by)
      WHERE c.id IS DISTINCT FROM t.holds GROUP BY t.id
    )
    UPDATE steps s SET tries_given_back = s.tries_given_back + cardinality(back.claims),
      taken_by = ARRAY(SELECT unnest(s.taken_by) EXCEPT SELECT unnest(back.claims))
    FROM back WHERE s.id = back.id`
}

/**
 * `holder` leases a deployment whose old lease lapsed. The step's deadline stood still since then. The old holder's
 * try counts if the step can have caused the loss and `holder` is another one.
 */
export function recordLapsedLease(
  tx: Tx,
  { id, claimId, busyStepId, leaseHolder, leaseExpiresAt }: LockedDeployment,
  holder: string,
): void {
  if (claimId === null) return
  const step = tx.unit.known.get(id)?.steps.find(({ finishedAt }) => finishedAt === null)
  if (step && step.id === busyStepId)
    recordLostLease(tx, step, claimId, leaseExpiresAt, leaseHolder !== holder && countsLosses(step.kind))
}

/** Stops the deadlines of a dead holder's steps. A try counts only if no other step can have killed the holder. */
export async function pauseStepsOfDeadHolder(tx: Tx, scope: Scope, holder: string): Promise<void> {
  // the order of locks is: deployments, then steps
  await tx.sql.$executeRaw`
    SELECT d.id FROM deployments d WHERE d.lease_holder = ${holder} AND ${ofScope(scope)} ORDER BY d.id ${toChange('d')}`
  await tx.sql.$executeRaw`
    WITH busy AS (
      SELECT s.id, d.claim_id, d.claim_id = ANY (s.taken_by) AND NOT (
        s.kind::text = ANY (${[...KINDS_COUNTING_LOSSES]}::text[]) AND count(*) FILTER (WHERE s.kind::text = ANY (${[...KINDS_COUNTING_LOSSES]}::text[])) OVER () = 1) AS back
      FROM deployments d JOIN steps s ON s.id = d.busy_step_id AND s.finished_at IS NULL
      WHERE d.lease_holder = ${holder} AND ${ofScope(scope)}
    )
    UPDATE steps s SET paused_at = coalesce(s.paused_at, now()),
      tries_given_back = s.tries_given_back + CASE WHEN busy.back THEN 1 ELSE 0 END,
      taken_by = CASE WHEN busy.back THEN array_remove(s.taken_by, busy.claim_id) ELSE s.taken_by END
    FROM busy WHERE s.id = busy.id`
}

/**
 * A part of a WITH clause, with its comma; empty for the built-in worker. Writes at most every 5 s, or when the
 * version or the classes change. Leaves `updated_at` unchanged, because it counts callers' changes. Skips a locked
 * listener.
 */
export function listenerSeen(
  { listenerId }: Scope,
  { version, podClasses }: Pick<ClaimRequest, 'version' | 'podClasses'> = {},
): Prisma.Sql {
  if (listenerId === null) return Prisma.empty
  const reported = Prisma.sql`coalesce(${version ?? null}::text, l.version)`
  const classes = Prisma.sql`coalesce(${podClasses ?? null}::text[], l.pod_classes)`
  return Prisma.sql`
    listener_seen AS (
      UPDATE listeners SET last_seen_at = now(), version = outdated.reported, pod_classes = outdated.classes
      FROM (
        SELECT l.id, ${reported} AS reported, ${classes} AS classes FROM listeners l
        WHERE l.id = ${listenerId}::uuid
          AND (l.last_seen_at IS NULL OR l.last_seen_at < now() - interval '5 seconds'
            OR l.version IS DISTINCT FROM ${reported} OR l.pod_classes IS DISTINCT FROM ${classes})
        ${toChangeOrSkip('l')}
      ) outdated WHERE listeners.id = outdated.id
    ),`
}

/** Returns the ids of deployments that are torn down or don't exist. */
export async function goneDeployments(core: ReadCore, ids: readonly string[]): Promise<string[]> {
  const existing = await core.db.deployment.findMany({
    where: { id: { in: [...ids] }, tornDownAt: null },
    select: { id: true },
  })
  const living = new Set(existing.map(({ id }) => id))
  return ids.filter((id) => !living.has(id))
}
