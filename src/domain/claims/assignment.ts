/** Computes a holder's assignment (README.md): the revision to serve, the next step, taken on its behalf, and the artifacts to keep. */
import type { Step as StepRow } from '../../generated/prisma/client.ts'
import { StepKind } from '../../generated/prisma/enums.ts'
import { WORK_COLUMNS } from '../protocol/answers.ts'
import type { Assignment, RevisionWork } from '../protocol/protocol.ts'
import { busyWith, explainTeardown, NOTHING_WAITS } from '../repositories/deployment.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { traceparentOfStep } from '../revisions/traces.ts'
import { transition } from '../revisions/transition.ts'
import { fail, isExhausted, statusWhenTaken, WORKER_LOST } from '../rollouts/plan.ts'
import { readSituation, settle } from '../rollouts/reconcile.ts'
import { takeStep } from '../rollouts/steps.ts'
import type { Core, Tx } from '../transaction/context.ts'
import { holderOf } from '../values/event-types.ts'
import { asReported } from '../values/explanation.ts'
import { effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import type { SecretReference } from '../values/shapes.ts'
import { type ClaimState, KEPT_OLD_ARTIFACTS, loadedAggregate } from './claim-state.ts'

/** Names of the artifacts to keep. `removedArtifacts`: those that this call forgot or lost. */
function keptArtifacts(tx: Tx, { deployment, artifacts }: ClaimState, removedArtifacts: ReadonlySet<string>): string[] {
  const ended = artifacts.filter(({ name, ended }) => ended && !removedArtifacts.has(name)).map(({ name }) => name)
  const known = loadedAggregate(tx, deployment).revisions.flatMap(({ artifact }) => artifact ?? [])
  return [...new Set([...ended, ...known])]
}

/** Stores the artifact of a successful build, also for waiting revisions of the same source, which then need no build. */
export function recordArtifact(tx: Tx, { deployment }: ClaimState, revisionId: string, artifact: string | null): void {
  const { revisions } = loadedAggregate(tx, deployment)
  const built = revisions.find(({ id }) => id === revisionId)!
  const source = built.basedOnId ?? built.id
  for (const { id, basedOnId, artifact: own, status } of revisions) {
    const waits = basedOnId === source && own === null && (status === 'CREATING' || status === 'QUEUED')
    if (id === revisionId || waits) tx.unit.update('revision', id, { artifact })
  }
}

/** Forgets the artifact of a revision after its holder lost it. All revisions with it are built again. Returns its name. */
export function forgetLostArtifact(tx: Tx, { deployment, siblings }: ClaimState, revisionId: string): string[] {
  const lost = loadedAggregate(tx, deployment).revisions.find(({ id }) => id === revisionId)?.artifact
  for (const id of siblings) tx.unit.update('revision', id, { artifact: null })
  return lost ? [lost] : []
}

/** After a deploy, forgets all but five different artifacts (README.md) and returns the forgotten names. */
export function pruneArtifacts(tx: Tx, { deployment, artifacts }: ClaimState, revisionId: string): string[] {
  const deployed = loadedAggregate(tx, deployment).revisions.find(({ id }) => id === revisionId)!.artifact
  const others = artifacts.filter(({ name }) => name !== deployed)
  const before = others
    .filter(({ deployedAt }) => deployedAt !== null)
    .sort((a, b) => b.deployedAt!.getTime() - a.deployedAt!.getTime())
  const kept = new Set(before.slice(0, deployed === null ? KEPT_OLD_ARTIFACTS + 1 : KEPT_OLD_ARTIFACTS))
  const forgotten = others.filter((one) => !kept.has(one))
  for (const { endedIds } of forgotten) for (const id of endedIds) tx.unit.update('revision', id, { artifact: null })
  return forgotten.map(({ name }) => name)
}

const NOTHING: ReadonlySet<string> = new Set()
const STEP_KINDS = Object.values(StepKind)

/** `now`: the deployment after the call's changes. `removedArtifacts`: artifacts that the call forgot or lost. */
export async function assign(
  core: Core,
  tx: Tx,
  claimState: ClaimState,
  now: LockedDeployment,
  removedArtifacts: ReadonlySet<string> = NOTHING,
): Promise<Assignment> {
  const due = dueStep(tx, claimState)
  const stop = now.busyStepId !== null && now.busyStepId !== due?.id
  const { deployment, step } =
    stop || !due ? { deployment: now, step: null } : await take(core, tx, claimState, now, due)
  const placed = currentSpec(deployment)
  const { activeRevisionId, restartedAt, idleMinutes } = deployment
  const builder = buildElsewhere(tx, claimState)
  const traceparent = step ? traceparentOfStep(tx, deployment.id, step) : undefined
  return {
    run:
      activeRevisionId === null || deployment.deletedAt
        ? null
        : {
            revision: workOf(tx, claimState, activeRevisionId),
            ...placed,
            ...(restartedAt && { restartedAt: restartedAt.toISOString() }),
            ...(idleMinutes !== null && { idleMinutes }),
          },
    step: step && {
      id: step.id,
      kind: step.kind,
      tries: step.tries,
      secondsLeft: (step.deadlineAt!.getTime() - tx.now().getTime()) / 1000,
      revision: step.revisionId === null ? null : workOf(tx, claimState, step.revisionId),
      ...placed,
      ...(traceparent && { traceparent }),
    },
    stop,
    ...(builder && { builder }),
    keepArtifacts: keptArtifacts(tx, claimState, removedArtifacts),
    generation: deployment.generation,
  }
}

/** The open step, unless it is offered to builders or its back-off still runs. */
function dueStep(tx: Tx, { deployment, begunAt }: ClaimState): StepRow | null {
  const open = openStep(tx, deployment)
  return open && !open.offeredAt && (open.notBefore === null || open.notBefore <= begunAt) ? open : null
}

const openStep = (tx: Tx, deployment: LockedDeployment): StepRow | undefined =>
  loadedAggregate(tx, deployment).steps.find(({ finishedAt }) => finishedAt === null)

/** The open step, if it is offered to builders. */
function buildElsewhere(tx: Tx, { deployment, begunAt }: ClaimState): Assignment['builder'] {
  const open = openStep(tx, deployment)
  if (!open?.offeredAt) return undefined
  const { id: stepId, builderHolder, builderLeaseExpiresAt } = open
  return { stepId, holder: builderLeaseExpiresAt && builderLeaseExpiresAt > begunAt ? builderHolder : null }
}

/** Kinds of steps that the built-in worker must not begin now. Listeners are not restricted. */
export const refusedKinds = ({ admission }: Core, { listenerId }: { listenerId: string | null }): StepKind[] =>
  listenerId === null && admission ? STEP_KINDS.filter((kind) => admission.refusal(kind)) : []

interface Taken {
  deployment: LockedDeployment
  step: StepRow | null
}

/** Takes the step unless it is taken. An exhausted step fails, and the next step is tried. */
async function take(
  core: Core,
  tx: Tx,
  claimState: ClaimState,
  deployment: LockedDeployment,
  due: StepRow,
): Promise<Taken> {
  if (deployment.busyStepId !== null) return { deployment, step: due }
  if (refusedKinds(core, deployment).includes(due.kind)) return { deployment, step: null }
  if (!isExhausted(due)) {
    if (deployment.listenerId === null) core.admission?.admitted(due.kind)
    const step = takeStep(core, tx, due, deployment.claimId!)
    return { deployment: begin(tx, busyWith(tx, deployment, step.id), step), step }
  }
  const situation = await readSituation(core, tx, deployment)
  const settled = await settle(core, tx, situation, fail(situation.state, WORKER_LOST))
  const next = dueStep(tx, claimState)
  return next ? take(core, tx, claimState, settled, next) : { deployment: settled, step: null }
}

const DRAINING = asReported('IN_PROGRESS', 'Open requests and streams may end first; then everything is removed.')

/** Sets the status for a taken step. At a second try the revision already has it. */
function begin(tx: Tx, deployment: LockedDeployment, step: StepRow): LockedDeployment {
  if (step.kind === 'TEARDOWN')
    // the reason of the last failed teardown stays visible
    return deployment.reason === 'TEARDOWN_FAILED' ? deployment : explainTeardown(tx, deployment, DRAINING)
  const { revisions } = loadedAggregate(tx, deployment)
  if (step.revisionId === null) {
    for (const { id, status } of revisions) if (status === 'CREATING') tx.unit.update('revision', id, NOTHING_WAITS)
    return deployment
  }
  const revision = revisions.find(({ id }) => id === step.revisionId)!
  const to = statusWhenTaken(revision)
  if (to) transition(tx, deployment.workspaceId, revision, { to, actor: holderOf(deployment.listenerId) })
  return deployment
}

/** Belongs to the deployment, not to a revision: the current values apply to every revision. */
const currentSpec = ({ resourceSpec, secretReferences, customUrl }: LockedDeployment) => ({
  spec: effectiveSpec(resourceSpec as ResourceSpec | null),
  secretReferences: (secretReferences as unknown as SecretReference[] | null) ?? [],
  customUrl,
})

const WORK = Object.keys(WORK_COLUMNS) as (keyof typeof WORK_COLUMNS)[]

export function workOf(tx: Tx, { deployment, secrets }: ClaimState, id: string): RevisionWork {
  const revision = loadedAggregate(tx, deployment).revisions.find((one) => one.id === id)!
  const work = Object.fromEntries(WORK.map((column) => [column, revision[column]])) as Omit<RevisionWork, 'secrets'>
  return { ...work, secrets: revision.secretSetId === null ? [] : secrets.get(revision.secretSetId)! }
}
