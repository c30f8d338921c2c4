/** Server-side apply and deletes with fencing: each write requires one exact version of the object. */
import { ApiRefused, Contended, NO_SUCH_VERSION, NotNowError } from '../api-server/errors.ts'
import { collectionPath, kindOf, type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import { ANNOTATION_TOKEN, FIELD_MANAGER, LABEL_DEPLOYMENT, LABEL_MANAGED_BY } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import type { Anchors } from './anchors.ts'
import { checkFence, type Fence, stamped } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** controllers write status and scale of the same objects, which creates new versions */
const MAX_CONFLICT_RETRIES = 10

/**
 * No object has this version (etcd starts with it, empty), so an apply with it only creates. API servers 1.20 to
 * 1.36 ignore it on create (registry/generic/registry/store.go, Update), except for Services before 1.23: see `make`.
 */
const ABSENT_VERSION = '1'

export async function apply(
  access: ClusterAccess,
  anchors: Anchors,
  manifest: Manifest,
  fence: Fence,
): Promise<LiveObject> {
  const ref: ObjectRef = { ...manifest, ...manifest.metadata }
  // the last observed version, or absence, saves a read; an outdated one causes a conflict
  let observed = access.store.get(ref) ?? (access.isCurrent(ref) ? null : undefined)
  const once = async () => {
    const usable = observed?.metadata.deletionTimestamp ? undefined : observed
    observed = undefined
    const live = usable === undefined ? await readOnce(access, ref) : usable
    if (!live) await anchors.check(manifest, fence)
    else if (live.metadata.deletionTimestamp) throw new NotNowError(`${named(ref)} is being deleted`)
    checkFence(fence, live)
    // with the uid, so that an apply can't recreate a deleted object
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
 * Creates an object that the next apply completes. It sends only required fields and labels: later applies never
 * remove the fields of a POST. A POST can't change an existing object (409).
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

/** Repeats `once` after a conflict or an outage, while the lease is valid. */
async function unlessConflict<T>(
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

/** Deletes one object by uid, unless a newer holder has it. */
export async function remove(
  access: ClusterAccess,
  object: LiveObject,
  fence: Fence,
  propagation: 'foreground' | 'background',
): Promise<void> {
  const ref: ObjectRef = { ...object, ...object.metadata }
  const { uid } = object.metadata
  let observed: LiveObject | undefined = object
  await unlessConflict(access, ref, fence, async () => {
    const live = observed ?? (await readOnce(access, ref))
    observed = undefined
    if (live?.metadata.uid !== uid || live.metadata.deletionTimestamp) return
    checkFence(fence, live)
    try {
      await access.api.call({
        method: 'DELETE',
        path: objectPath(ref),
        body: {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy: propagation === 'foreground' ? 'Foreground' : 'Background',
          preconditions: { uid, resourceVersion: live.metadata.resourceVersion },
        },
        action: `delete ${named(ref)}`,
        secret: ref.kind === 'Secret',
        leaseValid: () => fence.leaseValid(),
      })
    } catch (error) {
      if (!(error instanceof ApiRefused) || error.status !== 404) throw error
    }
  })
}
