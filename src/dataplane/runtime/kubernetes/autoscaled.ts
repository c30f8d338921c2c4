/** Whose replicas are not ours to say. */
import { keyOf } from './applied.ts'
import type { Manifest } from './types.ts'

/** Keys of Deployments whose replicas an autoscaler among the manifests decides. */
export function autoscaledOf(manifests: readonly Manifest[]): Set<string> {
  const scalers = manifests.filter(({ kind }) => kind === 'HorizontalPodAutoscaler')
  return new Set(
    scalers.map(({ spec, metadata: { namespace } }) => {
      const { name } = (spec as { scaleTargetRef: { name: string } }).scaleTargetRef
      return keyOf({ kind: 'Deployment', metadata: { name, namespace } })
    }),
  )
}
