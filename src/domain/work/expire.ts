/**
 * The sweep: nothing stays stuck (contract 4). Everything that waits has a deadline, a cause and a way out, and
 * this enforces it, through the same transitions as everything else. Safe to run on several servers at once.
 */
import { type Deployment, Prisma, type Step } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { type Because, because } from '../because.ts'
import { type Core, type Tx, transaction } from '../context.ts'
import { silentBefore } from '../deployments/status.ts'
import type { Reason } from '../reasons.ts'
import { missingContent } from '../revisions/lifecycle.ts'
import { transition } from '../revisions/transition.ts'
import { advance } from './advance.ts'
import { failStep } from './fail.ts'
import { LEASE_HOLDS } from './lease.ts'
import { purge } from './purge.ts'
import { isExhausted, MAX_TRIES } from './steps.ts'
import { listenerOf } from './waits-for.ts'

/** One round. Each deployment is a transaction of its own; one that fails is logged and does not stop the others. */
export async function expire(core: Core): Promise<void> {
  for (const { id } of await overdue(core)) {
    try {
      await transaction(core, (tx) => expireOne(core, tx, id))
    } catch (error) {
      core.log.error({ err: error, deploymentId: id }, 'could not enforce the deadlines of a deployment')
    }
  }
  await purge(core)
}

/** Deployments with something that is over its time. Conditions are checked again under the lock. */
function overdue(core: Core): Promise<{ id: string }[]> {
  return core.db.$queryRaw`
    SELECT DISTINCT d.id FROM deployments d JOIN steps s ON s.deployment_id = d.id AND s.finished_at IS NULL
    WHERE d.torn_down_at IS NULL AND (
      s.deadline_at < now()
      OR (s.first_taken_at IS NULL AND s.kind <> 'TEARDOWN' AND s.created_at < now() - interval '24 hours')
      OR (s.tries - s.tries_given_back >= ${MAX_TRIES} AND NOT ${MAY_COME_BACK}))
    UNION
    SELECT d.id FROM deployments d JOIN revisions r ON r.deployment_id = d.id
    WHERE d.torn_down_at IS NULL AND d.provisioned_at IS NOT NULL AND r.status = 'CREATING' AND r.status_since < now() - interval '24 hours'
    UNION (${mistaken(core)} LIMIT ${MISTAKEN_AT_ONCE})`
}

/**
 * The holder of deployment `d` has its lease, or lost it so lately that it may be heard of yet, which gives its try back.
 * Until then a step whose tries are used up fails only where somebody comes to take it anew.
 */
const MAY_COME_BACK = Prisma.sql`coalesce(d.lease_expires_at > now() - interval '1 minute' OR ${LEASE_HOLDS}, false)`

/** In one round: many wait for a listener that has just gone silent, or come back. */
const MISTAKEN_AT_ONCE = 500

/**
 * Deployments that wait for a listener of which their reason does not say, or says no more rightly, that it is silent; or
 * of which an older server has said something without a reason.
 */
function mistaken(core: Core): Prisma.Sql {
  const silent = Prisma.sql`coalesce(l.last_seen_at, l.created_at) < ${silentBefore(core.clock())}`
  return Prisma.sql`
    SELECT d.id FROM steps s JOIN deployments d ON d.id = s.deployment_id LEFT JOIN listeners l ON l.id = d.listener_id
    LEFT JOIN revisions r ON r.deployment_id = d.id
      AND (r.id = s.revision_id OR (s.kind = 'PROVISION' AND r.status = 'CREATING'))
    WHERE s.finished_at IS NULL AND s.first_taken_at IS NULL AND d.torn_down_at IS NULL
      AND CASE coalesce(r.reason, d.reason)
        WHEN ${'WAITING_FOR_LISTENER' satisfies Reason} THEN ${silent}
        WHEN ${'LISTENER_SILENT' satisfies Reason} THEN NOT ${silent}
        ELSE coalesce(r.reason, d.reason) IS NULL AND coalesce(r.status_message, d.status_message) IS NOT NULL END`
}

async function expireOne(core: Core, tx: Tx, id: string): Promise<void> {
  const locked = await tx.sql.$queryRaw<
    unknown[]
  >`SELECT 1 FROM deployments WHERE id = ${id}::uuid AND torn_down_at IS NULL FOR NO KEY UPDATE`
  if (locked.length === 0) return
  const deployment = await tx.sql.deployment.findUniqueOrThrow({ where: { id } })
  const step = await tx.sql.step.findFirst({ where: { deploymentId: id, finishedAt: null } })
  if (step) {
    const why = await overdueBecause(core, tx, deployment, step)
    if (why) await failStep(core, tx, deployment, step, why)
  }
  const empty = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM revisions WHERE deployment_id = ${id}::uuid AND status = 'CREATING' AND status_since < now() - interval '24 hours'`
  // while it is not provisioned, that is what they wait for
  const ids = deployment.provisionedAt ? empty.map((row) => row.id) : []
  for (const revision of await tx.sql.revision.findMany({ where: { id: { in: ids } } })) {
    const missing = missingContent(revision)
    if (missing)
      await transition(tx, deployment.workspaceId, revision, {
        to: 'CREATE_FAILED',
        because: because('CONTENT_MISSING', { missing }),
      })
  }
  await advance(core, tx, deployment)
}

async function overdueBecause(core: Core, tx: Tx, deployment: Deployment, step: Step): Promise<Because | null> {
  const [row] = await tx.sql.$queryRaw<{ late: boolean | null; untaken: boolean; hopeful: boolean }[]>`
    SELECT s.deadline_at < now() AS late, s.first_taken_at IS NULL AND s.created_at < now() - interval '24 hours' AS untaken,
           ${MAY_COME_BACK} AS hopeful
    FROM steps s JOIN deployments d ON d.id = s.deployment_id WHERE s.id = ${step.id}::uuid`
  if (row?.late) return pastDeadline(core, step.kind)
  if (row?.untaken && step.kind !== 'TEARDOWN')
    return because('NOBODY_TOOK_IT', { listener: await listenerOf(core, tx, deployment) })
  if (isExhausted(step) && !row?.hopeful) return because('WORKER_LOST', { tries: MAX_TRIES })
  return null
}

/** Why a step of this kind failed that took too long. */
export function pastDeadline(core: Core, kind: StepKind): Because {
  return because('DEADLINE', { kind, minutes: core.settings.deadlineMinutes[kind] })
}
