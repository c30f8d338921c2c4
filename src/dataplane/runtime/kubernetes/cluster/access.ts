/**
 * What the single verbs on objects (apply, remove, read) work with.
 */
import type { LiveObject } from '../types.ts'
import type { Api } from './api.ts'
import type { ClusterTimes } from './cluster.ts'
import { ApiRefused } from './errors.ts'
import { type ObjectRef, objectPath } from './kinds.ts'
import type { Store } from './store.ts'

export interface ClusterAccess {
  api: Api
  store: Store
  times: ClusterTimes
}

/** `Deployment a in namespace "b"`, for messages. */
export function named(ref: ObjectRef): string {
  return `${ref.kind} ${ref.name} in namespace "${ref.namespace}"`
}

/** Straight from the server, not tried again; null: there is none. */
export async function readOnce({ api }: ClusterAccess, ref: ObjectRef): Promise<LiveObject | null> {
  try {
    const secret = ref.kind === 'Secret'
    return await api.call<LiveObject>({ method: 'GET', path: objectPath(ref), what: `read ${named(ref)}`, secret })
  } catch (error) {
    if (error instanceof ApiRefused && error.status === 404) return null
    throw error
  }
}
