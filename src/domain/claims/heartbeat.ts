/**
 * One call for all of a holder's claims: one statement renews every lease and records health; only claims that have a new
 * assignment cost more. A holder that is up to date may wait here for the next one.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { Assignment, HeartbeatAnswer, HeartbeatItem, HeartbeatRequest } from '../protocol/protocol.ts'
import { hintOfRenewal, leaseEnd, renewHeld } from '../repositories/deployment.ts'
import { isHeld, type Scope, stepIsDue } from '../repositories/lease.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import { progressOfRevisions } from '../revisions/progress.ts'
import type { Core } from '../transaction/context.ts'
import { MAX_MESSAGE } from '../values/explanation.ts'
import { assign, refusedKinds } from './assignment.ts'
import { type ClaimWork, forEachClaim } from './claim-work.ts'
import { listenerSeen, returnLostTries } from './liveness.ts'

/** A claim whose holder is not up to date. */
interface Changed {
  claimId: string
  /** its lease is over, or somebody else's */
  lost: boolean
}

/**
 * Answers for each claim, in the order asked: lost, or its assignment where that is newer than the generation it named.
 * When very many have changed, the rest is answered the next time. `signal` ends the wait. `enter`: takes a slot to wait
 * in; null: there is none, it does not wait.
 */
export async function heartbeat(
  core: Core,
  scope: Scope,
  request: HeartbeatRequest,
  signal?: AbortSignal,
  enter?: () => (() => void) | null,
): Promise<HeartbeatAnswer[]> {
  const { leaseSeconds, waitSeconds = 0 } = request
  let renewed: Changed[] | null = await renewLeases(core, scope, request)
  const lost = renewed.filter((claim) => claim.lost).map(({ claimId }) => claimId)
  const wait = Math.min(waitSeconds, leaseSeconds / 2)
  const look = async () => {
    const changed = renewed ?? (await findChanged(core, scope, request))
    renewed = null
    return answerAll(core, scope, request, changed)
  }
  const answering = longPoll(core.notifier, scope.listenerId, wait, signal, look, enter)
  // the holder must learn in good time that its leases were renewed, whatever the rest waits for
  const answered = await withinMs(wait * 1000 + (leaseSeconds * 1000) / 8, answering)
  const answers = request.claims.map(
    ({ claimId }) => answered?.get(claimId) ?? (lost.includes(claimId) ? lostClaim(claimId) : unchanged(claimId)),
  )
  const allLost = answers.filter((answer) => answer.lost).map(({ claimId }) => claimId)
  // steps that somebody has locked must not cost the others their leases: then these tries count
  if (allLost.length > 0) await withinMs((leaseSeconds * 1000) / 8, returnLostTries(core, scope, allLost))
  return answers
}

/** What `work` resolves to; undefined when that takes longer than `ms`, or the database fails it: then the next heartbeat makes up for it. */
function withinMs<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = work.catch((error) => {
    if (databaseFailure(error) === null) throw error
    return undefined
  })
  return resultWithin(ms, done)
}

const lostClaim = (claimId: string): HeartbeatAnswer => ({ claimId, lost: true, assignment: null })
const unchanged = (claimId: string): HeartbeatAnswer => ({ claimId, lost: false, assignment: null })

/** Null: there is nothing to answer yet. */
async function answerAll(
  core: Core,
  scope: Scope,
  { claims, leaseSeconds }: HeartbeatRequest,
  changed: Changed[],
): Promise<Map<string, HeartbeatAnswer> | null> {
  const answers = new Map(changed.filter(({ lost }) => lost).map(({ claimId }) => [claimId, lostClaim(claimId)]))
  const asked = new Map(claims.map((item) => [item.claimId, item]))
  const news = [...new Set(changed.map(({ claimId }) => claimId))].filter((id) => !answers.has(id))
  // the holder must learn in good time that its leases were renewed
  const until = performance.now() + (leaseSeconds * 1000) / 8
  const over = () => performance.now() > until
  const work: ClaimWork<HeartbeatItem, Assignment> = {
    assigns: true,
    record: (tx, held) => assign(core, tx, held, held.deployment),
  }
  const items = news.map((id) => asked.get(id)!)
  const outcomes = await forEachClaim(core, scope, items, work, over)
  for (const [i, { claimId }] of items.entries()) {
    const outcome = outcomes[i]
    if (!outcome) continue
    if ('answer' in outcome) answers.set(claimId, { claimId, lost: false, assignment: outcome.answer })
    else if (outcome.error instanceof ClaimLostError) answers.set(claimId, lostClaim(claimId))
    // it keeps what it has; its fault must not cost the others their leases
    else if (databaseFailure(outcome.error) === null)
      core.log.error({ err: outcome.error, claimId }, 'a claim could not be answered with its new assignment')
  }
  return answers.size > 0 ? answers : null
}

/**
 * Waits for no lock: of a deployment whose row somebody else has locked, the lease is renewed beside it. That is as good,
 * since whoever takes a deployment over looks at both. What its holder reports of health is recorded the next time.
 */
function renewLeases(core: Core, scope: Scope, request: HeartbeatRequest): Promise<Changed[]> {
  return core.renew<Changed>(Prisma.sql`
    WITH ${listenerSeen(scope)} asked AS (${requestedSql(request)}),
    free AS MATERIALIZED (
      SELECT d.id, d.claim_id, d.idle, d.health FROM asked a JOIN deployments d ON ${heldClaimSql(scope)} ${toChangeOrSkip('d')}
    ), renewed AS (
      ${renewHeld(request.leaseSeconds)}
      RETURNING d.id, d.claim_id, d.generation, d.busy_step_id, ${stepDueSql(core, scope)} AS step_due, ${hintOfRenewal}
    ), beside AS (
      INSERT INTO lease_renewals (claim_id, expires_at)
      SELECT DISTINCT d.claim_id, ${leaseEnd(request.leaseSeconds)} FROM asked a JOIN deployments d ON ${heldClaimSql(scope)}
      WHERE d.id NOT IN (SELECT id FROM free)
      ON CONFLICT (claim_id) DO UPDATE SET expires_at = excluded.expires_at RETURNING claim_id
    ), needless AS (
      DELETE FROM lease_renewals x USING free WHERE x.claim_id = free.claim_id
    ), ${progressSql}
    SELECT a."claimId", h.claim_id IS NULL AS lost FROM asked a LEFT JOIN renewed h ON h.claim_id = a."claimId"
    WHERE (h.claim_id IS NULL OR h.generation IS DISTINCT FROM a.generation OR h.step_due)
      AND a."claimId" NOT IN (SELECT claim_id FROM beside)`)
}

/** The same without a write: whoever waits looks again and again. */
function findChanged(core: Core, scope: Scope, request: HeartbeatRequest): Promise<Changed[]> {
  return core.db.$queryRaw<Changed[]>`
    WITH ${listenerSeen(scope)} asked AS (${requestedSql(request)})
    SELECT a."claimId", d.id IS NULL AS lost FROM asked a LEFT JOIN deployments d ON ${heldClaimSql(scope)}
    WHERE d.id IS NULL OR d.generation IS DISTINCT FROM a.generation OR ${stepDueSql(core, scope)}`
}

/** Numbers as wide as whoever asks can write them. */
function requestedSql({ claims }: HeartbeatRequest): Prisma.Sql {
  // in a record of Postgres null and absent are the same
  const items = claims.map(({ progress, ...item }) =>
    progress === undefined ? item : { ...item, progress: progress ?? { reason: null, message: null } },
  )
  return Prisma.sql`
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
      AS c("claimId" uuid, token numeric, generation bigint, idle boolean, health jsonb, progress jsonb)`
}

/**
 * Writes what the steps of `renewed` wait for where that has changed, and nothing else: no event, and `updated_at` stays. A
 * revision that has moved on in the meantime keeps what it says.
 */
const progressSql = Prisma.sql`
  progress AS (
    SELECT left(a.progress->>'message', ${MAX_MESSAGE}) AS message, a.progress->>'reason' AS reason,
           coalesce(s.revision_id, (SELECT r.id FROM revisions r WHERE r.deployment_id = h.id AND r.status = 'CREATING' LIMIT 1)) AS id
    FROM asked a JOIN renewed h ON h.claim_id = a."claimId" JOIN steps s ON s.id = h.busy_step_id AND s.finished_at IS NULL
    WHERE a.progress IS NOT NULL AND s.kind <> 'TEARDOWN'
  ), ${progressOfRevisions}`

const heldClaimSql = (scope: Scope) => isHeld(scope, Prisma.sql`a."claimId"`, Prisma.sql`a.token`)

/** A step waits that nobody was given yet: it is new, or its back-off is over. */
const stepDueSql = (core: Core, scope: Scope) =>
  Prisma.sql`(d.busy_step_id IS NULL AND ${stepIsDue(refusedKinds(core, scope))})`
