/**
 * A holder reports how its step ended. Recorded once, under its fencing token, only by who took the step and only while
 * it is open: one that was interrupted, superseded or ran out of time in the meantime records nothing but the commit of
 * a build.
 */
import type { Deployment, Prisma, Revision, Step } from '../../generated/prisma/client.ts'
import { type Because, said } from '../because.ts'
import { type Core, type Tx, transaction } from '../context.ts'
import { effectiveSpec, type ResourceSpec } from '../deployments/resource-spec.ts'
import { rejectIfAny, type Violation } from '../errors.ts'
import { violation } from '../parse.ts'
import { FAILED_STEP } from '../reasons.ts'
import { transition } from '../revisions/transition.ts'
import { advance } from './advance.ts'
import { keepArtifact, loseArtifact, pruneArtifacts } from './artifacts.ts'
import { assign } from './assign.ts'
import { pastDeadline } from './expire.ts'
import { failStep } from './fail.ts'
import { heard } from './heard.ts'
import { NO_LEASE, type Scope, withClaim } from './lease.ts'
import type { Assignment, CompleteAnswer, CompleteRequest, Health } from './protocol.ts'
import { closeStep, isExhausted } from './steps.ts'
import { NOTHING_WAITS } from './waits-for.ts'

/** Throws ClaimLostError, and ValidationError for what this kind of step has to bring. Said twice (a lost answer), the second is answered like the first. */
export async function complete(core: Core, scope: Scope, request: CompleteRequest): Promise<CompleteAnswer> {
  const work = (tx: Tx) =>
    withClaim(tx, scope, request, async (deployment) => {
      const step = await tx.sql.step.findFirst({ where: { id: request.stepId, deploymentId: deployment.id } })
      if (step) rejectIfAny(await reportViolations(tx, step, request))
      // said again because the answer got lost, it may have been taken anew meanwhile
      const current = request.tries === undefined || request.tries === step?.tries
      const working = deployment.busyStepId === request.stepId && current
      if (working) {
        deployment.busyStepId = null
        await free(tx, deployment, step?.kind === 'BUILD' ? step.revisionId : null, request.repoCommitSha ?? null)
      }
      const recorded =
        step !== null &&
        (step.finishedAt === null
          ? working && (await record(core, tx, deployment, step, request))
          : step.finishedBy === BigInt(request.token))
      const assignment = deployment.tornDownAt ? NOTHING(deployment) : await assign(core, tx, deployment)
      return { recorded, assignment }
    })
  return heard(core, scope, request, () => transaction(core, work))
}

/**
 * Nobody works on it any more. The commit of a build is kept however that ended, also when its outcome does not count:
 * a revision pins what it is made of, and so do those that have taken its source over. Once it has one it keeps it.
 */
async function free(tx: Tx, deployment: Deployment, built: string | null, commit: string | null): Promise<void> {
  await tx.sql.$executeRaw`
    WITH pinned AS (
      UPDATE revisions r SET repo_commit_sha = ${commit} FROM revisions b
      WHERE b.id = ${built}::uuid AND r.deployment_id = b.deployment_id AND r.repo_commit_sha IS NULL
        AND (r.id = b.id OR r.based_on_id = coalesce(b.based_on_id, b.id)) AND ${commit}::text IS NOT NULL)
    UPDATE deployments SET busy_step_id = NULL WHERE id = ${deployment.id}::uuid`
}

/** What only the step can tell of a report. */
async function reportViolations(
  tx: Tx,
  step: Step,
  { outcome, artifact, repoCommitSha }: CompleteRequest,
): Promise<Violation[]> {
  if (step.kind !== 'BUILD' || outcome !== 'succeeded') return []
  const missing = (field: string) => violation(field, 'Required for a BUILD that succeeded.', 'missing')
  return [
    ...(artifact ? [] : [missing('artifact')]),
    ...(repoCommitSha || !(await isOfGit(tx, step)) ? [] : [missing('repo_commit_sha')]),
  ]
}

/** Whether its source has commits at all. */
async function isOfGit(tx: Tx, step: Step): Promise<boolean> {
  const { source } = await tx.sql.revision.findUniqueOrThrow({ where: { id: step.revisionId! } })
  return source === 'gitprovider'
}

const NOTHING = (deployment: Deployment): Assignment => ({
  generation: deployment.generation,
  run: null,
  step: null,
  stop: false,
  keepArtifacts: [],
})

async function record(
  core: Core,
  tx: Tx,
  deployment: Deployment,
  step: Step,
  request: CompleteRequest,
): Promise<boolean> {
  if (request.outcome === 'stopped' && !(request.message && isExhausted(step))) return false
  const token = BigInt(request.token)
  const [late] = await tx.sql.$queryRaw<
    { late: boolean }[]
  >`SELECT deadline_at < now() AS late FROM steps WHERE id = ${step.id}::uuid`
  if (late?.late) {
    await failStep(core, tx, deployment, step, pastDeadline(core, step.kind))
    return false
  }
  if (request.outcome !== 'succeeded') {
    if (request.artifactLost && step.revisionId) await loseArtifact(tx, deployment, step.revisionId)
    await failStep(core, tx, deployment, step, saidOf(step, request), token)
    return true
  }
  await closeStep(tx, deployment, step, { outcome: 'succeeded', token })
  await succeed(tx, deployment, step, request)
  await advance(core, tx, deployment)
  return true
}

/** An older worker has no word for it, or a newer one a word that is not known here. */
function saidOf({ kind }: Step, { reason, message }: CompleteRequest): Because {
  return said(reason ?? FAILED_STEP[kind], message ?? 'The worker gave no reason.')
}

async function succeed(tx: Tx, deployment: Deployment, step: Step, request: CompleteRequest): Promise<void> {
  if (step.kind === 'PROVISION') {
    deployment.provisionedAt = tx.now()
    await tx.sql.deployment.update({ where: { id: deployment.id }, data: { provisionedAt: deployment.provisionedAt } })
    tx.emit({ workspaceId: deployment.workspaceId, type: 'deployment.provisioned', deploymentId: deployment.id })
    return
  }
  if (step.kind === 'TEARDOWN') {
    deployment.tornDownAt = tx.now()
    await tx.sql.deployment.update({
      where: { id: deployment.id },
      data: { tornDownAt: deployment.tornDownAt, ...NOTHING_WAITS, ...NO_LEASE },
    })
    tx.emit({ workspaceId: deployment.workspaceId, type: 'deployment.torn_down', deploymentId: deployment.id })
    return
  }
  const revision = await tx.sql.revision.findUniqueOrThrow({ where: { id: step.revisionId! } })
  if (step.kind === 'BUILD') await built(tx, deployment, revision, request)
  else await deployed(tx, deployment, revision, request)
}

async function built(tx: Tx, deployment: Deployment, revision: Revision, request: CompleteRequest): Promise<void> {
  await keepArtifact(tx, revision, request.artifact ?? null)
  await transition(tx, deployment.workspaceId, revision, { to: 'AWAITING_DEPLOY' })
}

/** What was deployed is ready, by the word of who deployed it: whoever hears of that is not told that nothing serves. */
function healthAfterDeploy(tx: Tx, deployment: Deployment): { health?: Prisma.InputJsonObject } {
  const known = deployment.health as unknown as Health | null
  if (known && known.ready > 0) return {}
  const ready = effectiveSpec(deployment.resourceSpec as ResourceSpec | null).min_scale
  return { health: { ready, desired: ready, message: null, reason: null, observedAt: tx.now().toISOString() } }
}

async function deployed(tx: Tx, deployment: Deployment, revision: Revision, request: CompleteRequest): Promise<void> {
  await transition(tx, deployment.workspaceId, revision, { to: 'DEPLOYED' })
  deployment.activeRevisionId = revision.id
  const { url, imageVersion } = request
  // external_container: its custom_url is the user's own
  const isPublic = deployment.source !== 'external_container'
  await tx.sql.deployment.update({
    where: { id: deployment.id },
    data: {
      activeRevisionId: revision.id,
      idle: false,
      ...healthAfterDeploy(tx, deployment),
      ...(url ? { url, ...(isPublic ? { customUrl: url } : {}) } : {}),
      ...(imageVersion ? { imageVersion } : {}),
    },
  })
  await pruneArtifacts(tx, deployment)
}
