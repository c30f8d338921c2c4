/**
 * Server-side apply that a stale holder can't do: always against one exact version of the object.
 */

import { ApiRefused, Contended, NotNowError } from '../api-server/errors.ts'
import { anchorOf, type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import { ANNOTATION_TOKEN, FIELD_MANAGER } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import type { Fence } from './cluster.ts'
import { checkFence, stamped } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** controllers write to the same objects (status, scale), each time a new version */
const CONFLICTS = 10

/**
 * A version that no object ever has (etcd begins with it, empty). An apply with it can only create: when there is
 * an object meanwhile, it is a conflict. That the API server does not look at it when it creates holds from 1.20
 * to 1.36 (registry/generic/registry/store.go, Update).
 */
const NEVER = '1'

/** See Cluster.apply. */
export async function apply(access: ClusterAccess, manifest: Manifest, fence: Fence): Promise<LiveObject> {
  const ref: ObjectRef = { ...manifest, ...manifest.metadata }
  // what was observed last saves a call; when it is not the newest any more, that is a conflict as well
  let observed = access.store.get(ref)
  const once = async () => {
    const usable = observed && !observed.metadata.deletionTimestamp ? observed : null
    observed = undefined
    const live = usable ?? (await readOnce(access, ref))
    if (!live) await checkAnchor(access, ref, manifest, fence)
    else if (live.metadata.deletionTimestamp) throw new NotNowError(`${named(ref)} is being deleted`)
    checkFence(fence, live)
    // with the uid: an object that was deleted since must not come back by this
    const version = live
      ? { uid: live.metadata.uid, resourceVersion: live.metadata.resourceVersion }
      : { resourceVersion: NEVER }
    return await access.api.call<LiveObject>({
      method: 'PATCH',
      path: objectPath(ref),
      query: { fieldManager: FIELD_MANAGER, force: 'true' },
      contentType: 'application/apply-patch+yaml',
      body: stamped(manifest, fence, version),
      what: `apply ${named(ref)}`,
      secret: ref.kind === 'Secret',
      leaseValid: () => fence.leaseValid(),
    })
  }
  return await unlessConflict(access, ref, fence, once)
}

/** Nothing is created for a deployment that a newer holder has, or that was torn down. */
async function checkAnchor(access: ClusterAccess, ref: ObjectRef, manifest: Manifest, fence: Fence): Promise<void> {
  const anchor = anchorOf(manifest)
  if (!anchor || anchor.name === ref.name) return
  const live = await readOnce(access, anchor)
  checkFence(fence, live)
  if (!live || live.metadata.deletionTimestamp) {
    throw new NotNowError(`${named(anchor)} is missing: nothing else of the deployment is made without it`)
  }
}

/** See Cluster.writeToken. */
export async function writeToken(access: ClusterAccess, ref: ObjectRef, fence: Fence): Promise<void> {
  await unlessConflict(access, ref, fence, async () => {
    const live = await readOnce(access, ref)
    checkFence(fence, live)
    if (!live || live.metadata.deletionTimestamp) return
    const { uid, resourceVersion } = live.metadata
    await access.api.call({
      method: 'PATCH',
      path: objectPath(ref),
      query: { fieldManager: FIELD_MANAGER },
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid, resourceVersion, annotations: { [ANNOTATION_TOKEN]: String(fence.token) } } },
      what: `mark ${named(ref)}`,
      secret: ref.kind === 'Secret',
      leaseValid: () => fence.leaseValid(),
    })
  })
}

/** Does `once` again as long as somebody else was faster, or the API server away, and the lease holds. */
export async function unlessConflict<T>(
  access: ClusterAccess,
  ref: ObjectRef,
  fence: Fence,
  once: () => Promise<T>,
): Promise<T> {
  for (let conflicts = 0; conflicts < CONFLICTS; conflicts++) {
    try {
      return await retrying(access.times, once, () => fence.leaseValid())
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 409) throw error
    }
  }
  throw new Contended(`${named(ref)} was changed by others each time it was to be written`)
}
