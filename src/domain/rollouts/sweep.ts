/** The sweep: finds deployments that exceeded a time limit, and lets plan.ts decide. Several servers may run it. */
import { Prisma } from '../../generated/prisma/client.ts'
import { StepKind } from '../../generated/prisma/enums.ts'
import { silentBefore } from '../deployment-status/status.ts'
import type { Reason } from '../errors/reasons.ts'
import { removePurged } from '../repositories/deployment.ts'
import { LEASE_HOLDS } from '../repositories/lease.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { lockById } from '../repositories/locks.ts'
import { type Core, type ReadCore, type Tx, transaction } from '../transaction/context.ts'
import { builderAvailableSql, explainBuilderWait, offerAgain, recordOfferedTo } from './builder-offers.ts'
import { type Clock, expireOverdue, MAX_TRIES } from './plan.ts'
import { readSituation, settle } from './reconcile.ts'

/** Runs one round, with one transaction per deployment. A failing deployment is logged and does not stop the others. */
export async function sweep(core: Core): Promise<void> {
  for (const { id } of await findOverdue(core)) {
    try {
      await transaction(core, (tx) => sweepOne(core, tx, id))
    } catch (error) {
      core.log.error({ err: error, deploymentId: id }, 'could not enforce the deadlines of a deployment')
    }
  }
  await purge(core)
}

/** Deployments that exceeded a time limit. The conditions are checked again under the lock. */
function findOverdue(core: Core): Promise<{ id: string }[]> {
  return core.db.$queryRaw`
    SELECT DISTINCT d.id FROM deployments d JOIN steps s ON s.deployment_id = d.id AND s.finished_at IS NULL
    WHERE d.torn_down_at IS NULL AND (
      ${LATE}
      OR (s.kind <> 'TEARDOWN' AND ${UNTAKEN})
      OR (s.tries - s.tries_given_back >= ${MAX_TRIES} AND NOT ${MAY_COME_BACK})
      OR ${BUILDER_GONE}
      OR ${OFFERED_BY_OLDER_SERVER})
    UNION
    SELECT d.id FROM deployments d JOIN revisions r ON r.deployment_id = d.id
    WHERE d.torn_down_at IS NULL AND d.provisioned_at IS NOT NULL AND r.status = 'CREATING' AND r.status_since < now() - interval '24 hours'
    UNION (${outdatedExplanations(core)} LIMIT ${MAX_OUTDATED_PER_ROUND})`
}

/** When taken step `s` of deployment `d` lost its lease; NULL: it has a lease, or it is offered to builders. */
const PAUSED_SINCE = Prisma.sql`
  CASE WHEN s.first_taken_at IS NULL OR s.offered_at IS NOT NULL OR ${LEASE_HOLDS} THEN NULL ELSE coalesce(s.paused_at, d.lease_expires_at) END`

/** The deadline counts only time under a lease. */
const LATE = Prisma.sql`(s.deadline_at < coalesce(${PAUSED_SINCE}, now()))`

/** Step `s` was not taken, or not taken again, for 24 hours. For an offered build, its builder wait applies instead. */
const UNTAKEN = Prisma.sql`(
  ${PAUSED_SINCE} < now() - interval '24 hours'
  OR s.first_taken_at IS NULL AND CASE WHEN s.offered_at IS NULL THEN s.created_at < now() - interval '24 hours' ELSE s.not_before < now() END)`

/**
 * The lease on step `s` holds, or ended less than a minute ago, so its holder or builder may return and get its try back.
 * Until then, an exhausted step fails only when a worker tries to take it.
 */
const MAY_COME_BACK = Prisma.sql`coalesce(
  CASE WHEN s.offered_at IS NOT NULL THEN s.builder_lease_expires_at > now() - interval '1 minute'
       ELSE d.lease_expires_at > now() - interval '1 minute' OR ${LEASE_HOLDS} END, false)`

/** The lease of the builder of step `s` ended more than a minute ago. */
const BUILDER_GONE = Prisma.sql`(s.offered_at IS NOT NULL AND s.builder_lease_expires_at < now() - interval '1 minute')`

/** An older server offered step `s` without storing to whom. */
const OFFERED_BY_OLDER_SERVER = Prisma.sql`(s.offered_at IS NOT NULL AND s.offered_to IS NULL)`

/** A listener that falls silent or returns affects all its deployments together. */
const MAX_OUTDATED_PER_ROUND = 500

/** Reasons that name a missing or slow worker. */
const WAIT_REASONS = [
  'WAITING_FOR_WORKER',
  'SERVER_OVERLOADED',
  'WAITING_FOR_LISTENER',
  'LISTENER_SILENT',
] satisfies Reason[]

/**
 * Deployments whose shown wait is outdated or missing. A listener or builder fell silent or returned, an overload began or
 * ended, or a step waits longer than PICKUP_GRACE_MS.
 */
function outdatedExplanations(core: Core): Prisma.Sql {
  const silent = Prisma.sql`coalesce(l.last_seen_at, l.created_at) < ${silentBefore(core.clock())}`
  const available = Prisma.raw(builderAvailableSql('d.workspace_id'))
  const refused = Object.values(StepKind).filter((kind) => core.admission?.refusal(kind))
  const isRefused = Prisma.sql`(s.kind::text = ANY (${refused}::text[]))`
  return Prisma.sql`
    SELECT d.id FROM steps s JOIN deployments d ON d.id = s.deployment_id LEFT JOIN listeners l ON l.id = d.listener_id
    LEFT JOIN revisions r ON r.deployment_id = d.id
      AND (r.id = s.revision_id OR (s.kind = 'PROVISION' AND r.status = 'CREATING'))
    WHERE s.finished_at IS NULL AND s.builder_claim_id IS NULL AND d.torn_down_at IS NULL
      AND CASE WHEN s.first_taken_at IS NOT NULL AND s.offered_at IS NULL THEN
        s.kind <> 'TEARDOWN' AND ${PAUSED_SINCE} < now() - interval '10 seconds'
        AND (r.reason IS NULL OR r.reason <> ALL (${[...WAIT_REASONS]}::text[]))
      ELSE CASE coalesce(r.reason, d.reason)
        WHEN ${'WAITING_FOR_LISTENER' satisfies Reason} THEN ${silent}
        WHEN ${'LISTENER_SILENT' satisfies Reason} THEN NOT ${silent}
        WHEN ${'WAITING_FOR_BUILDER' satisfies Reason} THEN NOT ${available}
        WHEN ${'BUILDER_SILENT' satisfies Reason} THEN ${available}
        WHEN ${'WAITING_FOR_WORKER' satisfies Reason} THEN ${isRefused}
        -- another server may have said so; one without a worker does not know better
        WHEN ${'SERVER_OVERLOADED' satisfies Reason} THEN ${core.admission !== undefined} AND NOT ${isRefused}
        ELSE coalesce(r.reason, d.reason) IS NULL AND (
          coalesce(r.status_message, d.status_message) IS NOT NULL
          OR (s.offered_at IS NULL AND d.listener_id IS NULL AND (${isRefused} OR s.created_at < now() - interval '10 seconds'))) END END`
}

async function sweepOne(core: Core, tx: Tx, id: string): Promise<void> {
  const deployment = await lockById(tx, id)
  if (!deployment) return
  const clock = await readClock(tx, id)
  const situation = await readSituation(core, tx, deployment)
  const settled = await settle(core, tx, situation, expireOverdue(situation.state, clock))
  const { step } = situation.state
  if (!step) return
  const { steps } = await lockedAggregate(tx, settled)
  // the step may just have failed; the next open step goes to the holder first
  const found = steps.find(({ id, finishedAt }) => id === step.id && finishedAt === null)
  if (!found?.offeredAt) return
  const offered = found.offeredTo ? found : await recordOfferedTo(tx, settled, found)
  if (clock.builderGone) await offerAgain(tx, settled, offered)
  else if (!offered.builderClaimId) await explainBuilderWait(tx, settled, offered)
}

async function readClock(tx: Tx, id: string): Promise<Clock & { builderGone: boolean }> {
  const isTrue = (condition: Prisma.Sql) => Prisma.sql`coalesce(${condition}, false)`
  const [row] = await tx.sql.$queryRaw<[Clock & { builderGone: boolean }]>`
    SELECT ${isTrue(LATE)} AS late, ${isTrue(UNTAKEN)} AS untaken, ${MAY_COME_BACK} AS "mayComeBack",
           ${isTrue(BUILDER_GONE)} AS "builderGone",
           ARRAY(SELECT r.id FROM revisions r WHERE r.deployment_id = d.id AND r.status = 'CREATING'
                 AND r.status_since < now() - interval '24 hours') AS old
    FROM deployments d LEFT JOIN steps s ON s.deployment_id = d.id AND s.finished_at IS NULL WHERE d.id = ${id}::uuid`
  return row
}

const MAX_PURGED_PER_ROUND = 20

/** Deletes the rows of deployments 30 days after their teardown (docs/operations.md#what-is-kept-and-for-how-long). */
async function purge(core: ReadCore): Promise<void> {
  const gone = await core.db.$queryRaw<{ id: string }[]>`
    WITH forgotten AS (DELETE FROM lease_renewals WHERE expires_at < now() - interval '1 hour')
    SELECT id FROM deployments d WHERE torn_down_at < now() - interval '30 days'
      AND NOT EXISTS (SELECT 1 FROM log_lines WHERE deployment_id = d.id) LIMIT ${MAX_PURGED_PER_ROUND}`
  for (const { id } of gone) await removePurged(core, id)
}
