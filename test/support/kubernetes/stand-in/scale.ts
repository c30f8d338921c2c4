/** The scale subresource: the replicas of a workload, for clients that may change nothing else. */
import { clone, type Json, type KubeObject } from './objects.ts'

export function readScale({ metadata, spec, status }: KubeObject): Json {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata
  const labels = Object.entries(spec.selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec.replicas ?? 0 },
    status: { replicas: status?.replicas ?? 0, selector: labels.join(',') },
  }
}

/** The workload with the replicas of a Scale, which may name a resource version. */
export function withScale(live: KubeObject, scale: Json): KubeObject {
  const next = clone(live)
  next.spec.replicas = scale.spec?.replicas ?? 0
  const version = scale.metadata?.resourceVersion
  next.metadata.resourceVersion = version ?? ''
  return next
}
