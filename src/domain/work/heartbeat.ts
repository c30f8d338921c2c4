/**
 * One call for all of a holder's claims: one statement extends every lease and records health; only claims with
 * news cost more. A holder that has heard everything may wait here for what is new.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { MAX_MESSAGE } from '../because.ts'
import { type Core, transaction } from '../context.ts'
import { databaseFailure } from '../database-failure.ts'
import { ClaimLostError } from '../errors.ts'
import { lookUntil } from '../news.ts'
import { assign } from './assign.ts'
import { giveTriesBack } from './heard.ts'
import { LEASE_HOLDS, ofScope, type Scope, withClaim } from './lease.ts'
import type { Assignment, HeartbeatAnswer, HeartbeatItem, HeartbeatRequest } from './protocol.ts'
import { seen } from './seen.ts'

/** A claim of which there may be something to tell. */
interface News {
  claimId: string
  /** its lease is over, or somebody else's */
  lost: boolean
}

/**
 * Answers for each claim, in the order asked: lost, or what is new since the generation it named. When very much is new,
 * the rest is told the next time. `signal` ends the wait. `enter`: takes a place to wait in; null: it does not wait.
 */
export async function heartbeat(
  core: Core,
  scope: Scope,
  request: HeartbeatRequest,
  signal?: AbortSignal,
  enter?: () => (() => void) | null,
): Promise<HeartbeatAnswer[]> {
  const { leaseSeconds, waitSeconds = 0 } = request
  let news: News[] | null = await extend(core, scope, request)
  const lost = news.filter((one) => one.lost).map(({ claimId }) => claimId)
  const wait = Math.min(waitSeconds, leaseSeconds / 2)
  const look = async () => {
    const known = news ?? (await lookAgain(core, scope, request))
    news = null
    return tellAll(core, scope, request, known)
  }
  const telling = lookUntil(core.news, scope.listenerId, wait, signal, look, enter)
  // the holder must hear in good time that its leases were extended, whatever the rest waits for
  const told = await inTime(wait * 1000 + (leaseSeconds * 1000) / 8, telling)
  const answers = request.claims.map(
    ({ claimId }) => told?.get(claimId) ?? (lost.includes(claimId) ? gone(claimId) : quiet(claimId)),
  )
  const goneNow = answers.filter((answer) => answer.lost).map(({ claimId }) => claimId)
  // steps that somebody has locked must not cost the others their leases: then these tries count
  if (goneNow.length > 0)
    await inTime(
      (leaseSeconds * 1000) / 8,
      giveTriesBack(core, scope, goneNow).then(() => null),
    )
  return answers
}

/** What `telling` says; null when it has said nothing after `ms`, or the database failed it: then it is told the next time. */
async function inTime<T>(ms: number, telling: Promise<T | null>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null)
  })
  const said = telling.catch((error) => {
    if (databaseFailure(error) === null) throw error
    return null
  })
  return Promise.race([said, late]).finally(() => clearTimeout(timer))
}

const gone = (claimId: string): HeartbeatAnswer => ({ claimId, lost: true, assignment: null })
const quiet = (claimId: string): HeartbeatAnswer => ({ claimId, lost: false, assignment: null })

/** Null: there was nothing that could be told. */
async function tellAll(
  core: Core,
  scope: Scope,
  { claims, leaseSeconds }: HeartbeatRequest,
  news: News[],
): Promise<Map<string, HeartbeatAnswer> | null> {
  const told = new Map<string, HeartbeatAnswer>()
  const items = new Map(claims.map((item) => [item.claimId, item]))
  // the holder must hear in good time that its leases were extended
  const until = performance.now() + (leaseSeconds * 1000) / 8
  for (const { claimId, lost } of news) {
    if (!lost && performance.now() > until) continue
    const answer = lost ? gone(claimId) : await tell(core, scope, items.get(claimId)!)
    if (answer.lost || answer.assignment) told.set(claimId, answer)
  }
  return told.size > 0 ? told : null
}

async function tell(core: Core, scope: Scope, item: HeartbeatItem): Promise<HeartbeatAnswer> {
  try {
    const assignment: Assignment = await transaction(core, (tx) =>
      withClaim(tx, scope, item, (deployment) => assign(core, tx, deployment)),
    )
    return { claimId: item.claimId, lost: false, assignment }
  } catch (error) {
    if (error instanceof ClaimLostError) return gone(item.claimId)
    // one that can't be told its news keeps what it has, and must not cost the others their leases
    if (databaseFailure(error) === null)
      core.log.error({ err: error, claimId: item.claimId }, 'a worker could not be told what is new')
    return quiet(item.claimId)
  }
}

/**
 * Waits for no lock: of a deployment whose row somebody else has locked, the lease is renewed beside it. That is as good,
 * since whoever takes a deployment over looks at both. What its holder says of health is heard the next time.
 */
function extend(core: Core, scope: Scope, request: HeartbeatRequest): Promise<News[]> {
  const leaseEnd = Prisma.sql`now() + make_interval(secs => ${request.leaseSeconds}::float8)`
  return core.renew<News>(Prisma.sql`
    WITH ${seen(scope)} asked AS (${asked(request)}),
    free AS MATERIALIZED (
      SELECT d.id, d.claim_id FROM asked a JOIN deployments d ON ${isHeld(scope)} FOR NO KEY UPDATE OF d SKIP LOCKED
    ), held AS (
      UPDATE deployments d
      SET lease_expires_at = ${leaseEnd},
          idle = coalesce(a.idle, d.idle),
          health = CASE WHEN a.health IS NULL OR a.health = 'null'::jsonb THEN d.health
                        WHEN d.health - 'observedAt' = a.health THEN d.health
                        ELSE a.health || jsonb_build_object('observedAt', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END
      FROM asked a, free WHERE d.id = free.id AND a."claimId" = free.claim_id
      RETURNING d.id, d.claim_id, d.generation, d.busy_step_id, ${STEP_DUE} AS step_due
    ), beside AS (
      INSERT INTO lease_renewals (claim_id, expires_at)
      SELECT DISTINCT d.claim_id, ${leaseEnd} FROM asked a JOIN deployments d ON ${isHeld(scope)}
      WHERE d.id NOT IN (SELECT id FROM free)
      ON CONFLICT (claim_id) DO UPDATE SET expires_at = excluded.expires_at RETURNING claim_id
    ), needless AS (
      DELETE FROM lease_renewals x USING free WHERE x.claim_id = free.claim_id
    ), ${toldProgress}
    SELECT a."claimId", h.claim_id IS NULL AS lost FROM asked a LEFT JOIN held h ON h.claim_id = a."claimId"
    WHERE (h.claim_id IS NULL OR h.generation IS DISTINCT FROM a.generation OR h.step_due)
      AND a."claimId" NOT IN (SELECT claim_id FROM beside)`)
}

/** The same without a write: whoever waits looks again and again. */
function lookAgain(core: Core, scope: Scope, request: HeartbeatRequest): Promise<News[]> {
  return core.db.$queryRaw<News[]>`
    WITH ${seen(scope)} asked AS (${asked(request)})
    SELECT a."claimId", d.id IS NULL AS lost FROM asked a LEFT JOIN deployments d ON ${isHeld(scope)}
    WHERE d.id IS NULL OR d.generation IS DISTINCT FROM a.generation OR ${STEP_DUE}`
}

/** Numbers as wide as whoever asks can write them. */
function asked({ claims }: HeartbeatRequest): Prisma.Sql {
  // in a record of Postgres null and absent are the same
  const items = claims.map(({ progress, ...item }) =>
    progress === undefined ? item : { ...item, progress: progress ?? { reason: null, message: null } },
  )
  return Prisma.sql`
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
      AS c("claimId" uuid, token numeric, generation bigint, idle boolean, health jsonb, progress jsonb)`
}

/**
 * Writes what the steps of `held` wait for where that is news, and nothing else: no event, and `updated_at` stays. A
 * revision that has moved on in the meantime keeps what it says.
 */
const toldProgress = Prisma.sql`
  told AS (
    SELECT left(a.progress->>'message', ${MAX_MESSAGE}) AS message, a.progress->>'reason' AS reason,
           coalesce(s.revision_id, (SELECT r.id FROM revisions r WHERE r.deployment_id = h.id AND r.status = 'CREATING' LIMIT 1)) AS id
    FROM asked a JOIN held h ON h.claim_id = a."claimId" JOIN steps s ON s.id = h.busy_step_id AND s.finished_at IS NULL
    WHERE a.progress IS NOT NULL AND s.kind <> 'TEARDOWN'
  ), unlocked AS (
    SELECT r.id FROM revisions r WHERE r.id IN (SELECT id FROM told) FOR NO KEY UPDATE SKIP LOCKED
  ), of_revisions AS (
    UPDATE revisions r SET reason = t.reason, status_message = t.message,
           reason_since = CASE WHEN r.reason = t.reason THEN r.reason_since WHEN t.reason IS NOT NULL THEN now() END
    FROM told t JOIN unlocked USING (id)
    WHERE r.id = t.id AND r.status IN ('CREATING', 'BUILDING', 'DEPLOYING')
      AND (r.reason, r.status_message) IS DISTINCT FROM (t.reason, t.message)
  )`

const isHeld = (scope: Scope) => Prisma.sql`
  d.claim_id = a."claimId" AND d.lease_token = a.token AND ${LEASE_HOLDS} AND d.torn_down_at IS NULL AND ${ofScope(scope)}`

/** An open step waits that nobody was given yet: its back-off is over. */
const STEP_DUE = Prisma.sql`(
  d.busy_step_id IS NULL AND EXISTS (
    SELECT 1 FROM steps s WHERE s.deployment_id = d.id AND s.finished_at IS NULL AND (s.not_before IS NULL OR s.not_before <= now())))`
