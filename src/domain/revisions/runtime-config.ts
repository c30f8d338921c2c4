/**
 * The resources and secret references that a revision runs with. They belong to the deployment and change without a new
 * revision, so each revision records them while it is active or in progress (docs/deployments.md#deployments).
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Tx } from '../transaction/context.ts'
import { isOpen } from '../values/lifecycle.ts'
import { type EffectiveSpec, effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import type { SecretReference } from '../values/shapes.ts'

/** Null: not recorded. */
export type RuntimeConfig = Pick<Revision, 'resourceSpec' | 'secretReferences'>

/** The deployment's current configuration, as a revision that runs now has it. */
export const runtimeConfigOf = ({ resourceSpec, secretReferences }: RuntimeConfig): RuntimeConfig => ({
  resourceSpec: resourceSpec ?? {},
  secretReferences: secretReferences ?? [],
})

/** Records the deployment's new configuration on its active and open revisions. `revisions`: those of the locked deployment. */
export function recordRuntimeConfig(tx: Tx, deployment: Deployment, revisions: readonly Revision[]): void {
  const { activeRevisionId } = deployment
  for (const revision of revisions)
    if (revision.id === activeRevisionId || isOpen(revision))
      tx.unit.update('revision', revision.id, runtimeConfigOf(deployment))
}

export const RUNTIME_CONFIG_FIELDS = {
  id: true,
  status: true,
  resourceSpec: true,
  secretReferences: true,
  deployment: { select: { activeRevisionId: true, resourceSpec: true, secretReferences: true } },
} as const

type Row = Pick<Revision, 'id' | 'status'> &
  RuntimeConfig & { deployment: RuntimeConfig & Pick<Deployment, 'activeRevisionId'> }

/** The current configuration of an active or open revision, else the last recorded one; null: not recorded. */
export function knownRuntimeConfig(revision: Row): { resources: EffectiveSpec; references: SecretReference[] } | null {
  const { deployment, ...own } = revision
  const now = own.id === deployment.activeRevisionId || isOpen(own)
  const { resourceSpec, secretReferences } = now ? runtimeConfigOf(deployment) : own
  if (resourceSpec === null || secretReferences === null) return null
  return {
    resources: effectiveSpec(resourceSpec as ResourceSpec),
    references: secretReferences as unknown as SecretReference[],
  }
}
