/**
 * Server-side apply that a stale holder can't do: always against one exact version of the object.
 */
import { FIELD_MANAGER } from '../render/names.ts'
import type { LiveObject, Manifest } from '../types.ts'
import { type ClusterAccess, named, readOnce } from './access.ts'
import type { Fence } from './cluster.ts'
import { ApiRefused, Contended, NotNowError } from './errors.ts'
import { checkFence, stamped } from './fencing.ts'
import { anchorOf, type ObjectRef, objectPath } from './kinds.ts'
import { retrying } from './retry.ts'

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
  // what was seen last saves a call; when it is not the newest any more, that is a conflict as well
  let seen = access.store.get(ref)
  const once = async () => {
    const usable = seen && !seen.metadata.deletionTimestamp ? seen : null
    seen = undefined
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
      held: () => fence.held(),
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

/** Does `once` again as long as somebody else was faster, or the API server away, and the lease holds. */
export async function unlessConflict<T>(
  access: ClusterAccess,
  ref: ObjectRef,
  fence: Fence,
  once: () => Promise<T>,
): Promise<T> {
  for (let conflicts = 0; conflicts < CONFLICTS; conflicts++) {
    try {
      return await retrying(access.times, once, () => fence.held())
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 409) throw error
    }
  }
  throw new Contended(`${named(ref)} was changed by others each time it was to be written`)
}
