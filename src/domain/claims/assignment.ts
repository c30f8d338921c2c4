/**
 * What a holder has to do: what must be serving, and the step, which is taken for it. A step that was withdrawn while
 * the holder works on it must stop first: only then the next one is handed out.
 */
import type { Step as StepRow } from '../../generated/prisma/client.ts'
import type { Core, Tx } from '../context/context.ts'
import { holderOf } from '../model/event-actor.ts'
import { effectiveSpec, type ResourceSpec } from '../model/resource-spec.ts'
import type { SecretReference } from '../model/shapes.ts'
import { WORK_COLUMNS } from '../protocol/answers.ts'
import type { Assignment, RevisionWork, Run, Step } from '../protocol/protocol.ts'
import { transition } from '../revisions/transition.ts'
import { fail, isExhausted, WORKER_LOST, whenTaken } from '../rollouts/plan.ts'
import { look, settle } from '../rollouts/reconcile.ts'
import { type DueStep, dueStep, takeStep } from '../rollouts/steps.ts'
import { busyWith, explainTeardown, NOTHING_WAITS } from '../rows/deployment.ts'
import type { LockedDeployment } from '../rows/locks.ts'
import { openSecrets } from '../secrets/secret-set.ts'

/** For the one who holds the deployment. */
export async function assign(core: Core, tx: Tx, locked: LockedDeployment): Promise<Assignment> {
  const due = await dueStep(tx, locked.id)
  const stop = locked.busyStepId !== null && locked.busyStepId !== due?.id
  const taken = stop || !due ? { deployment: locked, step: null } : await take(core, tx, locked, due)
  const { deployment } = taken
  const kept = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, artifact: { not: null } },
    select: { artifact: true },
  })
  return {
    run: await runOf(core, tx, deployment),
    step: taken.step && (await stepFor(core, tx, deployment, taken.step)),
    stop,
    keepArtifacts: [...new Set(kept.map((r) => r.artifact!))],
    generation: deployment.generation,
  }
}

interface Taken {
  deployment: LockedDeployment
  step: DueStep | null
}

/** Takes the step, unless it is taken already. One that was tried too often fails, and the next one is looked at. */
async function take(core: Core, tx: Tx, deployment: LockedDeployment, due: DueStep): Promise<Taken> {
  if (deployment.busyStepId !== null) return { deployment, step: due }
  if (!isExhausted(due)) {
    const step = await takeStep(core, tx, due, deployment.claimId)
    return { deployment: await begin(tx, busyWith(tx, deployment, step.id), step), step }
  }
  const situation = await look(core, tx, deployment)
  const settled = await settle(core, tx, situation, fail(situation.state, WORKER_LOST))
  const next = await dueStep(tx, settled.id)
  return next ? take(core, tx, settled, next) : { deployment: settled, step: null }
}

/** The statuses in which somebody works. A second try finds the revision there already. */
async function begin(tx: Tx, deployment: LockedDeployment, step: StepRow): Promise<LockedDeployment> {
  if (step.kind === 'TEARDOWN')
    // nobody has to wait for it any more; why an earlier try failed stays to be read
    return deployment.reason === 'TEARDOWN_FAILED' ? deployment : explainTeardown(tx, deployment, null)
  if (step.revisionId === null) {
    await tx.sql.revision.updateMany({
      where: { deploymentId: deployment.id, status: 'CREATING' },
      data: NOTHING_WAITS,
    })
    return deployment
  }
  const revision = await tx.sql.revision.findUniqueOrThrow({ where: { id: step.revisionId } })
  const to = whenTaken(revision)
  if (to) transition(tx, deployment.workspaceId, revision, { to, actor: holderOf(deployment.listenerId) })
  return deployment
}

async function stepFor(core: Core, tx: Tx, deployment: LockedDeployment, due: DueStep): Promise<Step> {
  const { id, kind, tries, secondsLeft, revisionId } = due
  const revision = revisionId === null ? null : await readWork(core, tx, revisionId)
  return { id, kind, tries, secondsLeft: secondsLeft!, revision, ...currentSpec(deployment) }
}

async function runOf(core: Core, tx: Tx, deployment: LockedDeployment): Promise<Run | null> {
  if (deployment.activeRevisionId === null || deployment.deletedAt) return null
  return { revision: await readWork(core, tx, deployment.activeRevisionId), ...currentSpec(deployment) }
}

/** What belongs to the deployment and not to a revision: it holds as it is now, whatever runs. */
const currentSpec = ({ resourceSpec, secretReferences, customUrl }: LockedDeployment) => ({
  spec: effectiveSpec(resourceSpec as ResourceSpec | null),
  secretReferences: (secretReferences as unknown as SecretReference[] | null) ?? [],
  customUrl,
})

async function readWork(core: Core, tx: Tx, id: string): Promise<RevisionWork> {
  const select = { ...WORK_COLUMNS, secretSet: true } as const
  const { secretSet, ...work } = await tx.sql.revision.findUniqueOrThrow({ where: { id }, select })
  return { ...work, secrets: openSecrets(core.keyring, secretSet) }
}
