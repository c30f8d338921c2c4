/**
 * What belongs to a deployment and not to its revisions, and yet says how one runs: resources and references to secrets. A change of
 * them is carried out on what runs, without a revision (docs/deployments.md#deployments). So each revision notes what it ran with: when
 * a rollout of it begins, and again when that is changed while it runs or is about to. Of one that ran before there is no other record.
 */
import type { Deployment, Revision } from '../../generated/prisma/client.ts'
import type { Tx } from '../transaction/context.ts'
import { isOpen } from '../values/lifecycle.ts'
import { type EffectiveSpec, effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import type { SecretReference } from '../values/shapes.ts'

/** As it is noted: null is for those of whom nobody has noted it. */
export type RuntimeConfig = Pick<Revision, 'resourceSpec' | 'secretReferences'>

/** What a revision of this deployment that runs now runs with. */
export const runtimeConfigOf = ({ resourceSpec, secretReferences }: RuntimeConfig): RuntimeConfig => ({
  resourceSpec: resourceSpec ?? {},
  secretReferences: secretReferences ?? [],
})

/** The deployment has other resources or references from now on: so have those that run, or are about to. `revisions`: of the facts. */
export function recordRuntimeConfig(tx: Tx, deployment: Deployment, revisions: readonly Revision[]): void {
  const { activeRevisionId } = deployment
  for (const revision of revisions)
    if (revision.id === activeRevisionId || isOpen(revision))
      tx.unit.update('revision', revision.id, runtimeConfigOf(deployment))
}

/** What is read of a revision and its deployment to know. */
export const RUNTIME_CONFIG_FIELDS = {
  id: true,
  status: true,
  resourceSpec: true,
  secretReferences: true,
  deployment: { select: { activeRevisionId: true, resourceSpec: true, secretReferences: true } },
} as const

type Row = Pick<Revision, 'id' | 'status'> &
  RuntimeConfig & { deployment: RuntimeConfig & Pick<Deployment, 'activeRevisionId'> }

/** What it runs with now, if it runs or is about to; else what it ran with last; null: nobody has noted that. */
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
