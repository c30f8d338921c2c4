/** Reads one object from the API server. */

import { ApiRefused } from '../api-server/errors.ts'
import { type ObjectRef, objectPath } from '../api-server/kinds.ts'
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
