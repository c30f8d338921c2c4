/**
 * Reports of builders. The end of a build shares the rules of a holder's report (claims/complete.ts) and wakes the holder for the
 * next step. A heartbeat renews the leases of all builds of a builder, and waits until one is lost.
 */

import { Prisma } from '../../generated/prisma/client.ts'
import { longPoll } from '../../platform/async/long-poll.ts'
import { loadedAggregate } from '../claims/claim-state.ts'
import { recordReport } from '../claims/complete.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import type { Reason } from '../errors/reasons.ts'
import { violationUnless } from '../parsing/parse.ts'
import { repositoryOf } from '../ports/registry.ts'
import type { BuilderCompleteRequest, BuilderHeartbeatAnswer, BuilderHeartbeatRequest } from '../protocol/builders.ts'
import { leaseEnd } from '../repositories/deployment.ts'
import { type LockedDeployment, toChangeOrSkip } from '../repositories/locks.ts'
import { progressOfRevisions } from '../revisions/progress.ts'
import { offerAgain } from '../rollouts/builder-offers.ts'
import { type Core, type ReadCore, transaction } from '../transaction/context.ts'
import { MAX_MESSAGE_CHARS } from '../values/explanation.ts'
import {
  type BuilderScope,
  builderSeen,
  buildHeldSql,
  lockBuild,
  returningLostTry,
  returnLostTries,
  wakeChannel,
} from './lease.ts'

/** Whether the report counted. A repeated report gets the same answer. Throws ClaimLostError and ValidationError. */
export function completeBuild(core: Core, scope: BuilderScope, request: BuilderCompleteRequest): Promise<boolean> {
  const record = () =>
    transaction(core, async (tx) => {
      const claimState = await lockBuild(tx, scope, request, { over: true })
      const { deployment, requestedStep: step } = claimState
      rejectIfAny(violations(core, deployment, request))
      const { recorded, deployment: now } = await recordReport(core, tx, claimState, deployment, step, {
        ...request,
        stepId: step.id,
      })
      const isOpen = loadedAggregate(tx, deployment).steps.some(
        ({ id, finishedAt }) => id === step.id && finishedAt === null,
      )
      // the build was stopped; any builder may take it
      if (isOpen) await offerAgain(tx, now, step)
      return recorded
    })
  return returningLostTry(core, scope, request, record)
}

/** The artifact must be in the deployment's own repository, so a builder can't put other images into pods. */
function violations(
  core: Core,
  deployment: LockedDeployment,
  { outcome, artifact, repoCommitSha }: BuilderCompleteRequest,
): Violation[] {
  if (outcome !== 'succeeded') return []
  const repository = `image:${core.registry?.host}/${repositoryOf(deployment)}@sha256:`
  const digest = artifact?.startsWith(repository) ? artifact.slice(repository.length) : ''
  const isOwn = /^[0-9a-f]{64}$/.test(digest)
  // other sources have no commits
  const hasCommit = Boolean(repoCommitSha) || deployment.source !== 'gitprovider'
  const missing = 'Required for a build of a git repository that succeeded.'
  return [
    ...violationUnless(isOwn, 'artifact', `Must be ${repository}… with the digest of what was pushed.`),
    ...violationUnless(hasCommit, 'repo_commit_sha', missing, 'missing'),
  ]
}

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
