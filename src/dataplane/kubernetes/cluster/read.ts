/** Reads from the API server: one object, its Warning events, and the CPU and memory of pods, if the cluster has the metrics API. */
import type { CoreV1Event } from '@kubernetes/client-node'
import type { Api } from '../api-server/api.ts'
import { ApiRefused } from '../api-server/errors.ts'
import { type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import { LABEL_MANAGED_BY, MANAGED_BY } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { bytesOf } from '../render/resources.ts'

export function named(ref: ObjectRef): string {
  return `${ref.kind} ${ref.name} in namespace "${ref.namespace}"`
}

/** Reads once, without a retry; null: the object does not exist. */
export async function readOnce({ api }: ClusterAccess, ref: ObjectRef): Promise<LiveObject | null> {
  try {
    const secret = ref.kind === 'Secret'
    return await api.call<LiveObject>({ method: 'GET', path: objectPath(ref), action: `read ${named(ref)}`, secret })
  } catch (error) {
    if (error instanceof ApiRefused && error.status === 404) return null
    throw error
  }
}

/** the API can't sort; repeated events are counted in one event, so 200 are enough */
const MAX_EVENTS = 200

/** Newest first, as `kubectl describe` shows them. */
export async function warnings({ api, times }: ClusterAccess, namespace: string, uid: string): Promise<string[]> {
  const events = await retrying(times, () =>
    api.call<{ items: CoreV1Event[] }>({
      method: 'GET',
      path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`,
      query: { fieldSelector: `involvedObject.uid=${uid},type=Warning`, limit: String(MAX_EVENTS) },
      action: `list events in namespace "${namespace}"`,
    }),
  )
  const newest = events.items.map((event) => ({ event, at: timeOf(event) })).sort((a, b) => b.at - a.at)
  const lines = newest.map(({ event }) => `${event.reason ?? 'Warning'}: ${event.message ?? ''}`.trim())
  return [...new Set(lines)]
}

/** Time of an event in ms. The older and newer event APIs use different members, all strings here. */
function timeOf(event: CoreV1Event): number {
  const at =
    event.series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp
  return at ? Date.parse(String(at)) || 0 : 0
}

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
