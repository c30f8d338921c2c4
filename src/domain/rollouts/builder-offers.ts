/** Which builders a deployment has, and the offers of its BUILD steps to them. */
import type { Step } from '../../generated/prisma/client.ts'
import { notifyHolder } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { explainWait } from '../revisions/transition.ts'
import type { ReadCore, Tx } from '../transaction/context.ts'
import { type BuilderFacts, type Explanation, explain } from '../values/explanation.ts'
import { isOpen } from '../values/lifecycle.ts'
import { wakeBuilders } from './steps.ts'

/** A builder that has not called for this long gets no builds offered. */
const BUILDER_SILENT_SECONDS = 90

/** When a builder of the workspace last called; null: never. `workspace`: the workspace's id, as SQL. */
const lastSeen = (workspace: string) => `(
  SELECT max(k.builder_seen_at) FROM workspaces o JOIN api_keys k ON k.organization_id = o.organization_id
  WHERE o.id = ${workspace} AND k.role = 'builder' AND (k.workspace_id IS NULL OR k.workspace_id = o.id)
    AND k.builder_seen_at IS NOT NULL AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()))`

/** A condition: a builder of the workspace called lately. `workspace`: as above. */
export const builderAvailableSql = (workspace: string): string =>
  `coalesce(${lastSeen(workspace)} > now() - interval '${BUILDER_SILENT_SECONDS} seconds', false)`

const BUILDERS = {
  name: 'builders of a workspace',
  text: `
    SELECT w.organization_id AS "organizationId", ${lastSeen('w.id')} AS "lastSeenAt", ${builderAvailableSql('w.id')} AS there
    FROM workspaces w WHERE w.id = $1::uuid`,
}

export interface Builders extends BuilderFacts {
  organizationId: string
}

export async function buildersFor(tx: Tx, { workspaceId }: { workspaceId: string }): Promise<Builders> {
  const [row] = await tx.query<Builders>(BUILDERS, [workspaceId])
  return row!
}

const NO_BUILDER_LEASE = { builderClaimId: null, builderHolder: null, builderLeaseExpiresAt: null } as const

/**
 * Moves a step from its holder to the builders. `builderWaitMinutes` limits the wait; the build's deadline starts when a
 * builder takes it.
 */
export function offerToBuilders(
  core: ReadCore,
  tx: Tx,
  deployment: LockedDeployment,
  step: Step,
  builders: Builders,
): Promise<LockedDeployment> {
  const now = tx.now()
  const left = {
    offeredAt: now,
    offeredTo: builders.organizationId,
    firstTakenAt: null,
    deadlineAt: null,
    pausedAt: null,
    // older servers know no builders; they hand out no step before `notBefore`
    notBefore: new Date(now.getTime() + core.settings.builderWaitMinutes * 60_000),
  }
  tx.unit.update('step', step.id, left)
  return announce(tx, deployment, { ...step, ...left }, builders)
}

/** Stores which organization's builders may take the step, and wakes them. Older servers did not store it. */
export async function recordOfferedTo(tx: Tx, deployment: LockedDeployment, step: Step): Promise<Step> {
  const { organizationId: offeredTo } = await buildersFor(tx, deployment)
  tx.unit.update('step', step.id, { offeredTo })
  wakeBuilders(tx, deployment.workspaceId, { offeredTo })
  return { ...step, offeredTo }
}

/** Offers a step again after its builder released or lost it. The deadline keeps running. Wakes the deployment's holder. */
export async function offerAgain(tx: Tx, deployment: LockedDeployment, step: Step): Promise<LockedDeployment> {
  tx.unit.update('step', step.id, { ...NO_BUILDER_LEASE, notBefore: step.deadlineAt })
  return announce(tx, deployment, step, await buildersFor(tx, deployment))
}

async function announce(
  tx: Tx,
  deployment: LockedDeployment,
  step: Step,
  builders: BuilderFacts,
): Promise<LockedDeployment> {
  wakeBuilders(tx, deployment.workspaceId, step)
  await explainBuild(tx, deployment, step, waitsFor(builders))
  return notifyHolder(tx, deployment)
}

/** Updates the explanation of an offered build, because builders come and go silent. */
export const explainBuilderWait = async (tx: Tx, deployment: LockedDeployment, step: Step): Promise<void> =>
  explainBuild(tx, deployment, step, waitsFor(await buildersFor(tx, deployment)))

const waitsFor = (builders: BuilderFacts): Explanation =>
  builders.there ? explain('WAITING_FOR_BUILDER', {}) : explain('BUILDER_SILENT', builders)

/** Stores on the revision what its build waits for, or which builder has it. */
export async function explainBuild(
  tx: Tx,
  deployment: LockedDeployment,
  { revisionId }: Step,
  explanation: Explanation,
): Promise<void> {
  const { revisions } = await lockedAggregate(tx, deployment)
  const revision = revisions.find(({ id }) => id === revisionId)
  if (revision && isOpen(revision)) explainWait(tx, revision, explanation)
}
