/**
 * BUILD steps that are left to builders (docs/protocol.md#builders): such a step stays open, its holder has none meanwhile, and
 * builders take it under leases of its own. Each try of a builder counts as one of a holder does.
 */
import type { Step } from '../../generated/prisma/client.ts'
import { BUILDERS, type Core, type Tx } from '../context/context.ts'
import { type Explanation, explain } from '../model/explanation.ts'
import { isOpen } from '../model/lifecycle.ts'
import { explainWait } from '../revisions/transition.ts'
import { notifyHolder } from '../rows/deployment.ts'
import { factsOf } from '../rows/facts.ts'
import type { LockedDeployment } from '../rows/locks.ts'

/** A builder that was not heard from for so long is none that anything is left to, in seconds. */
const SILENT_SECONDS = 90

/** Nobody has it. */
const NO_BUILDER_LEASE = { builderClaimId: null, builderHolder: null, builderLeaseExpiresAt: null } as const

const IS_THERE = {
  name: 'builder is there',
  text: `
    SELECT EXISTS (
      SELECT 1 FROM workspaces w JOIN api_keys k ON k.organization_id = w.organization_id
      WHERE w.id = $1::uuid AND k.role = 'builder' AND (k.workspace_id IS NULL OR k.workspace_id = w.id)
        AND k.builder_seen_at > now() - interval '${SILENT_SECONDS} seconds'
        AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())) AS "isThere"`,
}

/** Whether a builder was heard of lately that may build for this workspace, and has where to push to. One statement. */
export async function builderIsThere(core: Core, tx: Tx, { workspaceId }: LockedDeployment): Promise<boolean> {
  if (!core.registry) return false
  const [row] = await tx.query<{ isThere: boolean }>(IS_THERE, [workspaceId])
  return row?.isThere ?? false
}

/** The step is there for any builder, whoever had it. Its holder is told. */
export async function offer(tx: Tx, deployment: LockedDeployment, step: Step): Promise<LockedDeployment> {
  // a server of before this version knows of no builders, and gives holders nothing that is not due
  const offered = { offeredAt: step.offeredAt ?? tx.now(), notBefore: step.deadlineAt }
  tx.unit.update('step', step.id, { ...NO_BUILDER_LEASE, ...offered })
  tx.wakeWorkers(BUILDERS)
  return explainBuild(tx, deployment, step, explain('WAITING_FOR_BUILDER', {}))
}

/** Says of the revision what its build waits for, or who is at it. Its holder is told. */
export async function explainBuild(
  tx: Tx,
  deployment: LockedDeployment,
  { revisionId }: Step,
  explanation: Explanation,
): Promise<LockedDeployment> {
  const { revisions } = await factsOf(tx, deployment)
  const revision = revisions.find(({ id }) => id === revisionId)
  if (revision && isOpen(revision)) explainWait(tx, revision, explanation)
  return notifyHolder(tx, deployment)
}
