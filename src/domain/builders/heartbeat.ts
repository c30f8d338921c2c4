/** One call for all builds of a builder: renews their leases, and waits until one is lost. */
import { Prisma } from '../../generated/prisma/client.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import type { BuilderHeartbeatAnswer, BuilderHeartbeatRequest } from '../protocol/builders.ts'
import { leaseEnd } from '../repositories/deployment.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import { progressOfRevisions } from '../revisions/progress.ts'
import type { Core, ReadCore } from '../transaction/context.ts'
import { MAX_MESSAGE_CHARS } from '../values/explanation.ts'
import type { Reason } from '../values/reasons.ts'
import { type BuilderScope, builderSeen, buildHeldSql, returnLostTries, wakeChannel } from './lease.ts'

/** Answers for each claim in order. `signal` ends the wait. `enter`: takes a place to wait in; null: does not wait. */
export async function heartbeatOfBuilds(
  core: Core,
  scope: BuilderScope,
  { claims, leaseSeconds, waitSeconds = 0 }: BuilderHeartbeatRequest,
  signal?: AbortSignal,
  enter?: () => (() => void) | null,
): Promise<BuilderHeartbeatAnswer[]> {
  // Postgres records can't tell null from absent
  const items = claims.map(({ progress, ...claim }) =>
    progress === undefined ? claim : { ...claim, progress: progress ?? {} },
  )
  const requested = Prisma.sql`
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(items)}::jsonb) AS c("claimId" uuid, token numeric, progress jsonb)`
  let first = true
  const look = async () => {
    const valid = await (first ? renew(core, scope, requested, leaseSeconds) : findValid(core, scope, requested))
    first = false
    const ids = new Set(valid.map(({ claimId }) => claimId))
    const lost = claims.map(({ claimId }) => claimId).filter((id) => !ids.has(id))
    return lost.length > 0 ? lost : null
  }
  const wait = claims.length > 0 ? Math.min(waitSeconds, leaseSeconds / 2) : 0
  const lost = (await longPoll(core.notifier, wakeChannel(scope), wait, signal, look, enter)) ?? []
  if (lost.length > 0) await returnLostTries(core, scope, lost)
  return claims.map(({ claimId }) => ({ claimId, lost: lost.includes(claimId) }))
}

interface Building {
  claimId: string
}

const heldBuildsSql = (scope: BuilderScope, requested: Prisma.Sql) => Prisma.sql`
  (${requested}) a JOIN steps s ON s.builder_claim_id = a."claimId" JOIN deployments d ON d.id = s.deployment_id
  WHERE ${buildHeldSql(scope, Prisma.sql`a."claimId"`, Prisma.sql`a.token`)}`

/**
 * Renews these claims for `seconds`, and returns those that hold. Waits for no lock: a locked step is renewed with the next
 * heartbeat.
 */
async function renew(core: Core, scope: BuilderScope, requested: Prisma.Sql, seconds: number): Promise<Building[]> {
  const valid = await core.renew<Building>(Prisma.sql`
    WITH ${builderSeen(scope)}, requested AS MATERIALIZED (${requested}), free AS MATERIALIZED (
      SELECT s.id FROM ${heldBuildsSql(scope, Prisma.sql`SELECT * FROM requested`)} ${toChangeOrSkip('s')}
    ), renewed AS (
      UPDATE steps s SET builder_lease_expires_at = ${leaseEnd(seconds)} FROM free WHERE s.id = free.id
      RETURNING s.revision_id, s.builder_claim_id, s.builder_holder
    ), progress AS (
      SELECT n.revision_id AS id, coalesce(a.progress->>'reason', ${'IN_PROGRESS' satisfies Reason}) AS reason,
             left('Building on ' || n.builder_holder || coalesce(': ' || (a.progress->>'message'), '.'), ${MAX_MESSAGE_CHARS}) AS message
      FROM requested a JOIN renewed n ON n.builder_claim_id = a."claimId" WHERE a.progress IS NOT NULL
    ), ${progressOfRevisions}
    SELECT a."claimId" FROM ${heldBuildsSql(scope, Prisma.sql`SELECT * FROM requested`)}`)
  core.announce?.()
  return valid
}

/** The same without a write. */
function findValid(core: ReadCore, scope: BuilderScope, requested: Prisma.Sql): Promise<Building[]> {
  return core.db.$queryRaw<
    Building[]
  >`WITH ${builderSeen(scope)} SELECT a."claimId" FROM ${heldBuildsSql(scope, requested)}`
}
