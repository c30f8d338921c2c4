/**
 * Tells a holder what to do: what must be serving, and the step, which it takes for it. A step that was
 * withdrawn while the holder works on it comes first: the next one is handed out only when that has stopped.
 */
import type { Deployment, Prisma, Step as StepRow } from '../../generated/prisma/client.ts'
import { because } from '../because.ts'
import type { Core, Tx } from '../context.ts'
import { effectiveSpec, type ResourceSpec } from '../deployments/resource-spec.ts'
import type { SecretReference } from '../deployments/schemas.ts'
import { transition } from '../revisions/transition.ts'
import { openSecrets } from '../secrets/secret-set.ts'
import { failStep } from './fail.ts'
import type { Assignment, RevisionWork, Run, Step } from './protocol.ts'
import { isExhausted, MAX_TRIES, takeStep } from './steps.ts'
import { NOTHING_WAITS } from './waits-for.ts'

/** `deployment` must be locked, current, and held by the one who asks. */
export async function assign(core: Core, tx: Tx, deployment: Deployment): Promise<Assignment> {
  const due = await dueStep(tx, deployment)
  const stop = deployment.busyStepId !== null && deployment.busyStepId !== due?.id
  const step = stop || !due ? null : await take(core, tx, deployment, due)
  const kept = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, artifact: { not: null } },
    select: { artifact: true },
  })
  return {
    run: await runOf(core, tx, deployment),
    step,
    stop,
    keepArtifacts: [...new Set(kept.map((r) => r.artifact!))],
    generation: deployment.generation,
  }
}

/** The open step, unless its back-off is still running. */
async function dueStep(tx: Tx, deployment: Deployment): Promise<DueStep | null> {
  const [row] = await tx.sql.$queryRaw<{ id: string; left: number | null }[]>`
    SELECT id, extract(epoch FROM deadline_at - clock_timestamp())::float8 AS left FROM steps WHERE deployment_id = ${deployment.id}::uuid AND finished_at IS NULL AND (not_before IS NULL OR not_before <= now())`
  return row ? { ...(await tx.sql.step.findUniqueOrThrow({ where: { id: row.id } })), secondsLeft: row.left } : null
}

/** A step with the seconds that are left of its time, by the database's clock; null: nobody has taken it yet. */
type DueStep = StepRow & { secondsLeft: number | null }

async function take(core: Core, tx: Tx, deployment: Deployment, due: DueStep): Promise<Step | null> {
  let step: DueStep = due
  if (deployment.busyStepId === null) {
    if (isExhausted(due)) {
      await failStep(core, tx, deployment, due, because('WORKER_LOST', { tries: MAX_TRIES }))
      const next = await dueStep(tx, deployment)
      return next ? take(core, tx, deployment, next) : null
    }
    step = await takeStep(core, tx, due, deployment.claimId)
    deployment.busyStepId = step.id
    // a holder whose answer got lost names an older generation, and is told again what it has taken
    deployment.generation++
    await tx.sql.$executeRaw`
      UPDATE deployments SET busy_step_id = ${step.id}::uuid, generation = generation + 1 WHERE id = ${deployment.id}::uuid`
    await begin(tx, deployment, step)
  }
  const revision = step.revisionId === null ? null : await readWork(core, tx, step.revisionId)
  return {
    id: step.id,
    kind: step.kind,
    tries: step.tries,
    secondsLeft: step.secondsLeft!,
    revision,
    spec: specOf(deployment),
    secretReferences: referencesOf(deployment),
    customUrl: deployment.customUrl,
  }
}

/** The statuses in which somebody works. A second try finds the revision there already. */
async function begin(tx: Tx, deployment: Deployment, step: StepRow): Promise<void> {
  if (step.revisionId === null) {
    if (step.kind === 'PROVISION')
      await tx.sql.revision.updateMany({
        where: { deploymentId: deployment.id, status: 'CREATING' },
        data: NOTHING_WAITS,
      })
    // nobody has to wait for it any more; why an earlier try failed stays to be read
    else
      await tx.sql.$executeRaw`
        UPDATE deployments SET reason = NULL, reason_since = NULL, status_message = NULL
        WHERE id = ${deployment.id}::uuid AND reason IS DISTINCT FROM 'TEARDOWN_FAILED'`
    return
  }
  const revision = await tx.sql.revision.findUniqueOrThrow({ where: { id: step.revisionId } })
  if (revision.status === 'AWAITING_BUILD') await transition(tx, deployment.workspaceId, revision, { to: 'BUILDING' })
  if (revision.status === 'AWAITING_DEPLOY') await transition(tx, deployment.workspaceId, revision, { to: 'DEPLOYING' })
}

async function runOf(core: Core, tx: Tx, deployment: Deployment): Promise<Run | null> {
  if (deployment.activeRevisionId === null || deployment.deletedAt) return null
  return {
    revision: await readWork(core, tx, deployment.activeRevisionId),
    spec: specOf(deployment),
    secretReferences: referencesOf(deployment),
    customUrl: deployment.customUrl,
  }
}

/** What a worker is told of a revision. */
const WORK_FIELDS = {
  id: true,
  number: true,
  attempt: true,
  source: true,
  repoUrl: true,
  repoRef: true,
  repoCommitSha: true,
  graphConfigPath: true,
  imageUri: true,
  sourceTarballPath: true,
  installCommand: true,
  buildCommand: true,
  artifact: true,
} as const satisfies Partial<Record<keyof RevisionWork, true>> & Prisma.RevisionSelect

async function readWork(core: Core, tx: Tx, id: string): Promise<RevisionWork> {
  const select = { ...WORK_FIELDS, secretSet: true } as const
  const { secretSet, ...work } = await tx.sql.revision.findUniqueOrThrow({ where: { id }, select })
  return { ...work, secrets: openSecrets(core.keyring, secretSet) }
}

const specOf = (deployment: Deployment) => effectiveSpec(deployment.resourceSpec as ResourceSpec | null)
const referencesOf = (deployment: Deployment) =>
  (deployment.secretReferences as unknown as SecretReference[] | null) ?? []
