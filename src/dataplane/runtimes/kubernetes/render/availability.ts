/** What keeps several replicas from going at once: with their node, and when nodes are drained. */
import { LABEL_REVISION, selectorOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'
import type { Scale } from './scale.ts'

/**
 * Of a pod template: replicas of one revision on different nodes and in different zones, as far as that goes. Said for one
 * replica, too: otherwise a second one would need another template, and the first one would be replaced.
 */
export function spread({ owner, component, revisionId }: Labelled) {
  const revision = revisionId === undefined ? {} : { [LABEL_REVISION]: revisionId }
  const over = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { ...selectorOf(owner.deploymentId, component), ...revision } },
  })
  return { topologySpreadConstraints: [over('kubernetes.io/hostname'), over('topology.kubernetes.io/zone')] }
}

/** Where there may be several replicas, a drain takes one at a time. One alone it never holds up. */
export function disruptionBudget(target: string, labelled: Labelled, { max }: Scale): Manifest[] {
  if (max <= 1) return []
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: objectMetadata(target, labelled),
      spec: {
        maxUnavailable: 1,
        selector: { matchLabels: selectorOf(labelled.owner.deploymentId, labelled.component) },
      },
    },
  ]
}
