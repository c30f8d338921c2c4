/** CPU and memory of the pods of a namespace, from the metrics API, which a cluster may not have. */
import type { Api } from '../api-server/api.ts'
import { LABEL_MANAGED_BY, MANAGED_BY } from '../objects/names.ts'
import { bytesOf } from '../render/resources.ts'

interface PodMetrics {
  items: { metadata: { name: string }; containers: { usage: { cpu: string; memory: string } }[] }[]
}

/** By name of the pod: cores and bytes of all its containers. Null: the cluster does not tell. */
export async function podUsage(api: Api, namespace: string) {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods?labelSelector=${LABEL_MANAGED_BY}%3D${MANAGED_BY}`
  try {
    const { items } = await api.call<PodMetrics>({ method: 'GET', path, action: 'read the usage of pods' })
    return new Map(
      items.map(({ metadata, containers }) => [
        metadata.name,
        {
          cores: containers.reduce((sum, { usage }) => sum + coresOf(usage.cpu), 0),
          memory: containers.reduce((sum, { usage }) => sum + bytesOf(usage.memory), 0),
        },
      ]),
    )
  } catch {
    // no metrics server, no permission, or the API server is unreachable
    return null
  }
}

const SCALES: Record<string, number> = { n: 1e-9, u: 1e-6, m: 1e-3, '': 1 }

/** Of a quantity like `250m` or `12345678n`. */
function coresOf(quantity: string): number {
  const [, number = '0', unit = ''] = /^([0-9.]+)([num]?)$/.exec(quantity) ?? []
  return Number(number) * SCALES[unit]!
}
