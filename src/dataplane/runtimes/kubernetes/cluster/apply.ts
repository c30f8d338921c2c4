/**
 * Server-side apply that a stale holder can't do: always against one exact version of the object.
 */

import { ApiRefused, Contended, NO_SUCH_VERSION, NotNowError } from '../api-server/errors.ts'
import { collectionPath, kindOf, type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import { ANNOTATION_TOKEN, FIELD_MANAGER, LABEL_DEPLOYMENT, LABEL_MANAGED_BY } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import type { Anchors } from './anchors.ts'
import type { Fence } from './cluster.ts'
import { checkFence, stamped } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** controllers write to the same objects (status, scale), each time a new version */
const MAX_CONFLICT_RETRIES = 10

/**
 * A version that no object ever has (etcd begins with it, empty). An apply with it can only create: when there is
 * an object meanwhile, it is a conflict. That the API server does not look at it when it creates holds from 1.20
 * to 1.36 (registry/generic/registry/store.go, Update), but for Services before 1.23: see `make`.
 */
const ABSENT_VERSION = '1'

/** See Cluster.apply. */
export async function apply(
  access: ClusterAccess,
  anchors: Anchors,
  manifest: Manifest,
  fence: Fence,
): Promise<LiveObject> {
  const ref: ObjectRef = { ...manifest, ...manifest.metadata }
  // what was observed last, also that there is none, saves a call; when that is not so any more, it is a conflict as well
  let observed = access.store.get(ref) ?? (access.isCurrent(ref) ? null : undefined)
  const once = async () => {
    const usable = observed?.metadata.deletionTimestamp ? undefined : observed
    observed = undefined
    const live = usable === undefined ? await readOnce(access, ref) : usable
    if (!live) await anchors.check(manifest, fence)
    else if (live.metadata.deletionTimestamp) throw new NotNowError(`${named(ref)} is being deleted`)
    checkFence(fence, live)
    // with the uid: an object that was deleted since must not come back by this
    const version = live
      ? { uid: live.metadata.uid, resourceVersion: live.metadata.resourceVersion }
      : { resourceVersion: ABSENT_VERSION }
    const write = (against: Version) =>
      access.api.call<LiveObject>({
        method: 'PATCH',
        path: objectPath(ref),
        query: { fieldManager: FIELD_MANAGER, force: 'true' },
        contentType: 'application/apply-patch+yaml',
        body: stamped(manifest, fence, against),
        action: `apply ${named(ref)}`,
        secret: ref.kind === 'Secret',
        leaseValid: () => fence.leaseValid(),
      })
    try {
      return await write(version)
    } catch (error) {
      if (live || !(error instanceof ApiRefused && error.reason === NO_SUCH_VERSION)) throw error
      const { metadata } = await make(access, manifest, fence)
      return await write({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })
    }
  }
  const applied = await unlessConflict(access, ref, fence, once)
  anchors.written(manifest, applied)
  return applied
}

type Version = Parameters<typeof stamped>[2]

/**
 * Makes an object that the apply after it completes: a POST can't change what somebody else has made meanwhile (409). It makes
 * us own its fields in a second way, in which an apply never takes them away: so it has only what no Service of ours
 * ever does without, and what it is found by.
 */
function make(access: ClusterAccess, manifest: Manifest, fence: Fence): Promise<LiveObject> {
  const { apiVersion, kind, spec, metadata } = manifest
  const { name, namespace } = metadata
  const ours = [LABEL_MANAGED_BY, LABEL_DEPLOYMENT]
  const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => ours.includes(key)))
  const body = stamped({ apiVersion, kind, metadata: { name, namespace, labels }, spec }, fence, {})
  return access.api.call<LiveObject>({
    method: 'POST',
    path: collectionPath(kindOf(manifest), namespace),
    query: { fieldManager: FIELD_MANAGER },
    body,
    action: `make ${named({ apiVersion, kind, name, namespace })}`,
    leaseValid: () => fence.leaseValid(),
  })
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
      action: `mark ${named(ref)}`,
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
  for (let conflicts = 0; conflicts < MAX_CONFLICT_RETRIES; conflicts++) {
    try {
      return await retrying(access.times, once, () => fence.leaseValid())
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 409) throw error
    }
  }
  throw new Contended(`${named(ref)} was changed by others each time it was to be written`)
}
