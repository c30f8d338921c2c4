/** Reads one object, or the Warning events of one, from the API server. */
import type { CoreV1Event } from '@kubernetes/client-node'
import { ApiRefused } from '../api-server/errors.ts'
import { type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import type { LiveObject } from '../objects/types.ts'

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
