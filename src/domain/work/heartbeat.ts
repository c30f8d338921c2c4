/**
 * One call for all of a holder's claims: one statement extends every lease and records health; only claims with
 * news cost more.
 */
import { type Core, transaction } from '../context.ts'
import { ClaimLostError } from '../errors.ts'
import { assign } from './assign.ts'
import { type Scope, withClaim } from './lease.ts'
import type { Assignment, HeartbeatAnswer, HeartbeatItem, HeartbeatRequest } from './protocol.ts'

interface Beat {
  claimId: string
  generation: number
  /** an open step waits that nobody was given yet (its back-off is over) */
  stepDue: boolean
}

/** Answers for each claim, in the order asked: lost, or what is new since the generation it named. */
export async function heartbeat(core: Core, scope: Scope, request: HeartbeatRequest): Promise<HeartbeatAnswer[]> {
  if (request.claims.length === 0) return []
  const beats = new Map((await extend(core, scope, request)).map((beat) => [beat.claimId, beat]))
  const answers: HeartbeatAnswer[] = []
  for (const item of request.claims) {
    const beat = beats.get(item.claimId)
    if (!beat) answers.push({ claimId: item.claimId, lost: true, assignment: null })
    else if (beat.generation === item.generation && !beat.stepDue)
      answers.push({ claimId: item.claimId, lost: false, assignment: null })
    else answers.push(await tell(core, scope, item))
  }
  return answers
}

async function tell(core: Core, scope: Scope, item: HeartbeatItem): Promise<HeartbeatAnswer> {
  try {
    const assignment: Assignment = await transaction(core, (tx) =>
      withClaim(tx, scope, item, (deployment) => assign(core, tx, deployment)),
    )
    return { claimId: item.claimId, lost: false, assignment }
  } catch (error) {
    if (error instanceof ClaimLostError) return { claimId: item.claimId, lost: true, assignment: null }
    // one that can't be told its news keeps what it has, and must not cost the others their leases
    core.log.error({ err: error, claimId: item.claimId }, 'a worker could not be told what is new')
    return { claimId: item.claimId, lost: false, assignment: null }
  }
}

function extend(core: Core, scope: Scope, request: HeartbeatRequest): Promise<Beat[]> {
  const items = request.claims.map(({ claimId, token, health, idle }) => ({
    claimId,
    token,
    idle: idle ?? null,
    health: health ?? null,
  }))
  return core.db.$queryRaw<Beat[]>`
    UPDATE deployments d
    SET lease_expires_at = now() + make_interval(secs => ${request.leaseSeconds}::float8),
        idle = coalesce(b.idle, d.idle),
        health = CASE WHEN b.health IS NULL OR b.health = 'null'::jsonb THEN d.health
                      WHEN d.health - 'observedAt' = b.health THEN d.health
                      ELSE b.health || jsonb_build_object('observedAt', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END
    FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS b("claimId" uuid, token bigint, idle boolean, health jsonb)
    WHERE d.claim_id = b."claimId" AND d.lease_token = b.token AND d.lease_expires_at > now() AND d.torn_down_at IS NULL
      AND d.listener_id IS NOT DISTINCT FROM ${scope.listenerId}::uuid
    RETURNING d.claim_id AS "claimId", d.generation,
      d.busy_step_id IS NULL AND EXISTS (SELECT 1 FROM steps s WHERE s.deployment_id = d.id AND s.finished_at IS NULL
        AND (s.not_before IS NULL OR s.not_before <= now())) AS "stepDue"`
}
