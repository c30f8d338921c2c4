/** One call for all claims of a holder: renews the leases in one statement and answers with news (README.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { ClaimLostError } from '../errors/errors.ts'
import type { Assignment, HeartbeatAnswer, HeartbeatItem, HeartbeatRequest } from '../protocol/protocol.ts'
import { leaseEnd, renewHeld, setUrls } from '../repositories/deployment.ts'
import { isHeld, type Scope, stepIsDue } from '../repositories/lease.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import { progressOfRevisions } from '../revisions/progress.ts'
import type { Core } from '../transaction/context.ts'
import { MAX_MESSAGE_CHARS } from '../values/explanation.ts'
import { assign, refusedKinds } from './assignment.ts'
import { type ClaimWork, forEachClaim } from './claim-work.ts'
import { recordReports } from './holder-reports.ts'
import { listenerSeen, returnLostTries } from './liveness.ts'

/** A claim with news for its holder. */
interface Changed {
  claimId: string
  /** its lease ended, or another holder has it */
  lost: boolean
}

/**
 * Answers for each claim in order: lost, or an assignment newer than the holder's generation. Under a large backlog,
 * the rest follows at the next call. `signal` ends the wait. `enter` takes a place in the limit of waiting calls;
 * null: does not wait.
 */
export async function heartbeat(
  core: Core,
  scope: Scope,
  request: HeartbeatRequest,
  signal?: AbortSignal,
  enter?: () => (() => void) | null,
): Promise<HeartbeatAnswer[]> {
  const { leaseSeconds, waitSeconds = 0 } = request
  // rare: a column of the change feed must not be in the UPDATE of each heartbeat
  if (request.claims.some(({ url }) => url != null)) await storeUrls(core, scope, request)
  await withinMs((leaseSeconds * 1000) / 8, recordReports(core, scope, request.claims))
  let renewed: Changed[] | null = await renewLeases(core, scope, request)
  const lost = renewed.filter((claim) => claim.lost).map(({ claimId }) => claimId)
  const wait = Math.min(waitSeconds, leaseSeconds / 2)
  const look = async () => {
    const changed = renewed ?? (await findChanged(core, scope, request))
    renewed = null
    return answerAll(core, scope, request, changed)
  }
  const answering = longPoll(core.notifier, scope.listenerId, wait, signal, look, enter)
  // the holder must learn soon enough that its leases were renewed
  const answered = await withinMs(wait * 1000 + (leaseSeconds * 1000) / 8, answering)
  const answers = request.claims.map(
    ({ claimId }) => answered?.get(claimId) ?? (lost.includes(claimId) ? lostClaim(claimId) : unchangedClaim(claimId)),
  )
  const allLost = answers.filter((answer) => answer.lost).map(({ claimId }) => claimId)
  // has a time limit, because the other leases matter more; the tries count if their steps stay locked
  if (allLost.length > 0) await withinMs((leaseSeconds * 1000) / 8, returnLostTries(core, scope, allLost))
  return answers
}

/** Undefined if `work` takes longer than `ms` or the database fails. The next heartbeat makes up for it. */
function withinMs<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  const done = work.catch((error) => {
    if (databaseFailure(error) === null) throw error
    return undefined
  })
  return resultWithin(ms, done)
}

const lostClaim = (claimId: string): HeartbeatAnswer => ({ claimId, lost: true, assignment: null })
const unchangedClaim = (claimId: string): HeartbeatAnswer => ({ claimId, lost: false, assignment: null })

/** Null: no news yet. */
async function answerAll(
  core: Core,
  scope: Scope,
  { claims, leaseSeconds }: HeartbeatRequest,
  changed: Changed[],
): Promise<Map<string, HeartbeatAnswer> | null> {
  const answers = new Map(changed.filter(({ lost }) => lost).map(({ claimId }) => [claimId, lostClaim(claimId)]))
  const itemsById = new Map(claims.map((item) => [item.claimId, item]))
  const news = [...new Set(changed.map(({ claimId }) => claimId))].filter((id) => !answers.has(id))
  // leaves time for the answer, as in heartbeat()
  const until = performance.now() + (leaseSeconds * 1000) / 8
  const over = () => performance.now() > until
  const work: ClaimWork<HeartbeatItem, Assignment> = {
    assigns: true,
    record: (tx, claimState) => assign(core, tx, claimState, claimState.deployment),
  }
  const items = news.map((id) => itemsById.get(id)!)
  const outcomes = await forEachClaim(core, scope, items, work, over)
  for (const [i, { claimId }] of items.entries()) {
    const outcome = outcomes[i]
    if (!outcome) continue
    if ('answer' in outcome) answers.set(claimId, { claimId, lost: false, assignment: outcome.answer })
    else if (outcome.error instanceof ClaimLostError) answers.set(claimId, lostClaim(claimId))
    // the holder keeps its old assignment; the other leases matter more
    else if (databaseFailure(outcome.error) === null)
      core.log.error({ err: outcome.error, claimId }, 'could not read the new assignment of a claim')
  }
  return answers.size > 0 ? answers : null
}

/** Waits for no lock: a locked row's renewal goes to `lease_renewals`; the next heartbeat stores its health. */
async function renewLeases(core: Core, scope: Scope, request: HeartbeatRequest): Promise<Changed[]> {
  const changed = await core.renew<Changed>(Prisma.sql`
    WITH ${listenerSeen(scope)} requested AS (${requestedSql(request)}),
    free AS MATERIALIZED (
      SELECT d.id, d.claim_id FROM requested a JOIN deployments d ON ${heldClaimSql(scope)} ${toChangeOrSkip('d')}
    ), renewed AS (
      ${renewHeld(request.leaseSeconds)}
      RETURNING d.id, d.claim_id, d.generation, d.busy_step_id, ${stepDueSql(core, scope)} AS step_due
    ), beside AS (
      INSERT INTO lease_renewals (claim_id, expires_at)
      SELECT DISTINCT d.claim_id, ${leaseEnd(request.leaseSeconds)} FROM requested a JOIN deployments d ON ${heldClaimSql(scope)}
      WHERE d.id NOT IN (SELECT id FROM free)
      ON CONFLICT (claim_id) DO UPDATE SET expires_at = excluded.expires_at RETURNING claim_id
    ), needless AS (
      DELETE FROM lease_renewals x USING free WHERE x.claim_id = free.claim_id
    ), ${progressSql}
    SELECT a."claimId", h.claim_id IS NULL AS lost FROM requested a LEFT JOIN renewed h ON h.claim_id = a."claimId"
    WHERE (h.claim_id IS NULL OR h.generation IS DISTINCT FROM a.generation OR h.step_due)
      AND a."claimId" NOT IN (SELECT claim_id FROM beside)`)
  core.announce?.()
  return changed
}

/** Stores URLs that have changed since the DEPLOY. */
async function storeUrls(core: Core, scope: Scope, request: HeartbeatRequest): Promise<void> {
  await core.renew(
    Prisma.sql`WITH requested AS (${requestedSql(request)}) ${setUrls(heldClaimSql(scope))} RETURNING d.id`,
  )
  core.announce?.()
}

/** Like renewLeases() without a write, for waiting calls that look repeatedly. */
function findChanged(core: Core, scope: Scope, request: HeartbeatRequest): Promise<Changed[]> {
  return core.db.$queryRaw<Changed[]>`
    WITH ${listenerSeen(scope)} requested AS (${requestedSql(request)})
    SELECT a."claimId", d.id IS NULL AS lost FROM requested a LEFT JOIN deployments d ON ${heldClaimSql(scope)}
    WHERE d.id IS NULL OR d.generation IS DISTINCT FROM a.generation OR ${stepDueSql(core, scope)}`
}

/** Column types hold the full range of the protocol's numbers. */
function requestedSql({ claims }: HeartbeatRequest): Prisma.Sql {
  // Postgres records can't tell null from absent
  const items = claims.map(({ progress, ...item }) =>
    progress === undefined ? item : { ...item, progress: progress ?? { reason: null, message: null } },
  )
  return Prisma.sql`
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
      AS c("claimId" uuid, token numeric, generation bigint, idle boolean, url text, health jsonb, progress jsonb)`
}

/**
 * Stores what the steps of `renewed` wait for, if it changed. Writes no event and leaves `updated_at` unchanged. A
 * revision that moved on keeps its message.
 */
const progressSql = Prisma.sql`
  progress AS (
    SELECT left(a.progress->>'message', ${MAX_MESSAGE_CHARS}) AS message, a.progress->>'reason' AS reason,
           coalesce(s.revision_id, (SELECT r.id FROM revisions r WHERE r.deployment_id = h.id AND r.status = 'CREATING' LIMIT 1)) AS id
    FROM requested a JOIN renewed h ON h.claim_id = a."claimId" JOIN steps s ON s.id = h.busy_step_id AND s.finished_at IS NULL
    WHERE a.progress IS NOT NULL AND s.kind <> 'TEARDOWN'
  ), ${progressOfRevisions}`

const heldClaimSql = (scope: Scope) => isHeld(scope, Prisma.sql`a."claimId"`, Prisma.sql`a.token`)

/** Whether a step without a holder is due: a new one, or one whose back-off ended. */
const stepDueSql = (core: Core, scope: Scope) =>
  Prisma.sql`(d.busy_step_id IS NULL AND ${stepIsDue(refusedKinds(core, scope))})`
