/** Replicas of a component: their number, their autoscaler, and protection against simultaneous loss. */
import type { EffectiveSpec } from '../../../domain/protocol/protocol.ts'
import { ANNOTATION_SCALE, LABEL_REVISION, selectorOf } from '../objects/names.ts'
import type { Manifest } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'

interface Scale {
  min: number
  max: number
  /** no autoscaler is rendered: others set the replicas */
  byOthers: boolean
}

/**
 * Pilothouse's autoscaler can't scale up from 0, so a minimum of 0 needs a maximum of 0. With `autoscaler: none` others
 * may scale to 0 and back (KEDA).
 */
export function scaleOf(role: 'server' | 'queue', spec: EffectiveSpec): Scale {
  const [min, max] = role === 'server' ? [spec.min_scale, spec.max_scale] : [spec.queue_min_scale, spec.queue_max_scale]
  const byOthers = spec.autoscaler === 'none'
  return { min: byOthers ? min : Math.max(min, Math.min(1, max)), max, byOthers }
}

/** Keeps a live number within the bounds if others set it. A new component starts with at least one. */
export function replicasOf({ min, max }: Scale, live: number | undefined): number {
  return max > min ? Math.min(max, Math.max(min, live ?? Math.max(1, min))) : min
}

/** Annotation of a Deployment whose replicas others set, as members to spread. */
export function scaleAnnotation({ min, max, byOthers }: Scale): Record<string, string> {
  return byOthers && max > min ? { [ANNOTATION_SCALE]: `${min}-${max}` } : {}
}

/** None if the bounds leave no choice. `target`: name of the Deployment and of the autoscaler. */
export function autoscaler(target: string, labelled: Labelled, { min, max, byOthers }: Scale): Manifest[] {
  if (max <= min || byOthers) return []
  return [
    {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: objectMetadata(target, labelled),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target },
        minReplicas: min,
        maxReplicas: max,
        // per cent of the CPU request: a spec without `cpu` never scales
        targetCPUUtilizationPercentage: 80,
      },
    },
  ]
}

/** Spreads replicas over nodes and zones if possible, against node failures. Also for one replica: adding it later would replace the pod. */
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
