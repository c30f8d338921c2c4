/** Protects replicas against simultaneous loss: topology spread for node failures, PodDisruptionBudget for drains. */
import { LABEL_REVISION, selectorOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'
import type { Scale } from './scale.ts'

/** Spreads replicas over nodes and zones if possible. Also for one replica: adding it later would replace the pod. */
export function spread({ deployment, component, revisionId }: Labelled) {
  const revision = revisionId === undefined ? {} : { [LABEL_REVISION]: revisionId }
  const over = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { ...selectorOf(deployment.deploymentId, component), ...revision } },
  })
  return { topologySpreadConstraints: [over('kubernetes.io/hostname'), over('topology.kubernetes.io/zone')] }
}

/** With several replicas, a drain evicts one at a time. A single replica never blocks a drain. */
export function disruptionBudget(target: string, labelled: Labelled, { max }: Scale): Manifest[] {
  if (max <= 1) return []
  return [
    {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: objectMetadata(target, labelled),
      spec: {
        maxUnavailable: 1,
        selector: { matchLabels: selectorOf(labelled.deployment.deploymentId, labelled.component) },
      },
    },
  ]
}
