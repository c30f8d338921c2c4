/**
 * Moves a deployment on as far as the rules let it go right now: into the queue, to its turn, a step opened for
 * whoever holds it. Every write ends with this, in its own transaction and under the deployment's lock, so the
 * next turn is given in the transaction that freed it (contract 4). Level-based: calling it twice changes nothing.
 */
import type { Deployment, Revision, Step } from '../../generated/prisma/client.ts'
import type { StepKind } from '../../generated/prisma/enums.ts'
import { because } from '../because.ts'
import type { Core, Tx } from '../context.ts'
import { isInTurn, missingContent, needsBuild, OPEN } from '../revisions/lifecycle.ts'
import { explain, transition } from '../revisions/transition.ts'
import { closeStep, openStep } from './steps.ts'
import { isServed, NOTHING_WAITS, noRuntime, waitsFor } from './waits-for.ts'

/** `deployment` must be locked and current; it is not changed by this, apart from its generation. */
export async function advance(core: Core, tx: Tx, deployment: Deployment): Promise<void> {
  if (deployment.tornDownAt) return
  const step = await tx.sql.step.findFirst({ where: { deploymentId: deployment.id, finishedAt: null } })
  if (deployment.deletedAt) return advanceTeardown(core, tx, deployment, step)
  const open = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, status: { in: [...OPEN] } },
    orderBy: { rollout: 'asc' },
  })
  const served = isServed(core, deployment)

  for (const revision of open.filter((r) => r.status === 'CREATING')) {
    const missing = missingContent(revision)
    if (!served)
      await transition(tx, deployment.workspaceId, revision, { to: 'CREATE_FAILED', because: noRuntime(deployment) })
    else if (!deployment.provisionedAt)
      await explain(tx, revision, step?.firstTakenAt ? null : await waitsFor(core, tx, deployment, 'PROVISION'))
    else if (missing) await explain(tx, revision, because(missing, {}))
    else await transition(tx, deployment.workspaceId, revision, { to: 'QUEUED' })
  }
  await advanceProvisioning(tx, deployment, open, step)

  const current = open.find((r) => isInTurn(r.status)) ?? (await giveTurn(tx, deployment, open))
  if (current && (current.status === 'AWAITING_BUILD' || current.status === 'AWAITING_DEPLOY')) {
    const kind: StepKind = current.status === 'AWAITING_BUILD' ? 'BUILD' : 'DEPLOY'
    if (!served) {
      await transition(tx, deployment.workspaceId, current, {
        to: kind === 'BUILD' ? 'BUILD_FAILED' : 'DEPLOY_FAILED',
        because: noRuntime(deployment),
      })
      return advance(core, tx, deployment)
    }
    await explain(tx, current, await waitsFor(core, tx, deployment, kind))
    if (step?.revisionId !== current.id) await openStep(tx, deployment, kind, current.id)
  }
  for (const revision of open.filter((r) => r.status === 'QUEUED')) {
    if (current && current.id !== revision.id)
      await explain(tx, revision, because('QUEUED_BEHIND', { revisionId: current.id }))
  }
}

/** A PROVISION step is open exactly while a revision waits for it. */
async function advanceProvisioning(tx: Tx, deployment: Deployment, open: Revision[], step: Step | null): Promise<void> {
  const wanted = !deployment.provisionedAt && open.some((r) => r.status === 'CREATING')
  if (wanted && !step) await openStep(tx, deployment, 'PROVISION', null)
  if (!wanted && step?.kind === 'PROVISION') await closeStep(tx, deployment, step, { outcome: 'cancelled' })
}

/** Nobody has the turn: the lowest rollout that is queued gets it. */
async function giveTurn(tx: Tx, deployment: Deployment, open: Revision[]): Promise<Revision | undefined> {
  const next = open.find((r) => r.status === 'QUEUED')
  if (next)
    await transition(tx, deployment.workspaceId, next, { to: needsBuild(next) ? 'AWAITING_BUILD' : 'AWAITING_DEPLOY' })
  return next
}

/** What was never begun needs no teardown; the rest gets a TEARDOWN step, with back-off after a failed one. */
async function advanceTeardown(core: Core, tx: Tx, deployment: Deployment, step: Step | null): Promise<void> {
  if (step?.kind === 'TEARDOWN') {
    // why an earlier try failed stays to be read
    if (!step.firstTakenAt && deployment.reason !== 'TEARDOWN_FAILED') await explainTeardown(core, tx, deployment)
    return
  }
  if (step) await closeStep(tx, deployment, step, { outcome: 'cancelled' })
  const begun = await tx.sql.step.findMany({
    where: { deploymentId: deployment.id, firstTakenAt: { not: null } },
    select: { kind: true, outcome: true },
  })
  if (begun.length === 0) {
    await tx.sql.deployment.update({
      where: { id: deployment.id },
      data: { tornDownAt: tx.now(), ...NOTHING_WAITS },
    })
    tx.emit({ workspaceId: deployment.workspaceId, type: 'deployment.torn_down', deploymentId: deployment.id })
    return
  }
  const failures = begun.filter((s) => s.kind === 'TEARDOWN' && s.outcome === 'failed').length
  await openStep(tx, deployment, 'TEARDOWN', null, failures)
  if (failures === 0) await explainTeardown(core, tx, deployment)
}

async function explainTeardown(core: Core, tx: Tx, deployment: Deployment): Promise<void> {
  const { reason, message: statusMessage } = isServed(core, deployment)
    ? await waitsFor(core, tx, deployment, 'TEARDOWN')
    : noRuntime(deployment)
  if (reason === deployment.reason && statusMessage === deployment.statusMessage) return
  const since = reason === deployment.reason ? {} : { reasonSince: tx.now() }
  await tx.sql.deployment.update({ where: { id: deployment.id }, data: { reason, statusMessage, ...since } })
}
