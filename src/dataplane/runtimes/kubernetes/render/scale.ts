/**
 * How many replicas there are. Nothing in a cluster wakes a component that has none, so a minimum of 0 means 0
 * only where the maximum is 0 too; otherwise there is at least one.
 */
import type { Manifest } from '../objects/types.ts'
import { type Labelled, objectMetadata } from './metadata.ts'

export interface Scale {
  min: number
  max: number
}

export const scaleOf = (min: number, max: number): Scale => ({ min: Math.max(min, Math.min(1, max)), max })

/** Where an autoscaler decides, what it has decided (`live`) is kept, as far as it is still within bounds. */
export function replicasOf({ min, max }: Scale, live: number | undefined): number {
  return max > min ? Math.min(max, Math.max(min, live ?? min)) : min
}

/** None where there is nothing to decide. `target` is the name of a Deployment, and the autoscaler's too. */
export function autoscaler(target: string, labelled: Labelled, { min, max }: Scale): Manifest[] {
  if (max <= min) return []
  return [
    {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: objectMetadata(target, labelled),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: target },
        minReplicas: min,
        maxReplicas: max,
        // per cent of the request: a spec without `cpu` never scales
        targetCPUUtilizationPercentage: 80,
      },
    },
  ]
}
