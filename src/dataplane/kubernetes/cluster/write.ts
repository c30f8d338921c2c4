/** Server-side apply and deletes with fencing: each write requires one exact version of the object. */
import { LRUCache } from 'lru-cache'
import { ApiRefused, Contended, NO_SUCH_VERSION, NotNowError } from '../api-server/errors.ts'
import { anchorOf, collectionPath, kindOf, type ObjectRef, objectPath } from '../api-server/kinds.ts'
import { retrying } from '../api-server/retry.ts'
import type { ClusterAccess } from '../informers/store.ts'
import { ANNOTATION_TOKEN, FIELD_MANAGER, LABEL_DEPLOYMENT, LABEL_MANAGED_BY } from '../objects/names.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { checkFence, type Fence, stamped } from './fencing.ts'
import { named, readOnce } from './read.ts'

/** controllers write status and scale of the same objects, which creates new versions */
const MAX_CONFLICT_RETRIES = 10
/**
 * No object has this version (etcd starts with it, empty), so an apply with it only creates. API servers 1.20 to
 * 1.36 ignore it on create (registry/generic/registry/store.go, Update), except for Services before 1.23: see `make`.
 */
const ABSENT_VERSION = '1'
/** ms in which the watch shows a write of this process */
const OBSERVED_BY_MS = 10_000
/** more than the creations that one process begins in that time */
const MAX_ANCHORS = 1000

export function createWriter(access: ClusterAccess) {
  const { api, store, isCurrent, times } = access
  /** by name: anchors that this process wrote and that the watch may not show yet */
  const writtenAnchors = new LRUCache<string, LiveObject>({ max: MAX_ANCHORS, ttl: OBSERVED_BY_MS })

  const send = (method: 'POST' | 'PATCH' | 'DELETE', ref: ObjectRef, action: string, fence: Fence, body: object) => ({
    method,
    path: method === 'POST' ? collectionPath(kindOf(ref), ref.namespace) : objectPath(ref),
    ...(method === 'DELETE' ? {} : { query: { fieldManager: FIELD_MANAGER } }),
    body,
    action: `${action} ${named(ref)}`,
    secret: ref.kind === 'Secret',
    leaseValid: () => fence.leaseValid(),
    parent: fence.span?.(),
    resource: kindOf(ref).resource,
  })

  /** Repeats `once` after a conflict or an outage, while the lease is valid. */
  async function unlessConflict<T>(ref: ObjectRef, fence: Fence, once: () => Promise<T>): Promise<T> {
    for (let conflicts = 0; conflicts < MAX_CONFLICT_RETRIES; conflicts++) {
      try {
        return await retrying(times, once, () => fence.leaseValid())
      } catch (error) {
        if (!(error instanceof ApiRefused) || error.status !== 409) throw error
      }
    }
    throw new Contended(`${named(ref)} was changed by others each time it was to be written`)
  }

  /**
   * Absent objects are fenced by the deployment's anchor (api-server/kinds.ts): nothing is created for a deployment
   * that has a newer holder or was torn down. The watch saves most reads of the anchor.
   */
  async function checkAnchor(manifest: Manifest, fence: Fence): Promise<void> {
    const anchor = anchorOf(manifest)
    if (!anchor || anchor.name === manifest.metadata.name) return
    const shown = store.get(anchor)
    if (shown) writtenAnchors.delete(anchor.name)
    const known = isCurrent(anchor) ? (shown ?? writtenAnchors.get(anchor.name)) : undefined
    const live = known ?? (await readOnce(access, anchor))
    checkFence(fence, live)
    if (!live || live.metadata.deletionTimestamp)
      throw new NotNowError(`${named(anchor)} is missing, and no other object of the deployment is created without it`)
  }

  /**
   * Creates an object that the next apply completes. It sends only required fields and labels: later applies never
   * remove the fields of a POST. A POST can't change an existing object (409).
   */
  function make(manifest: Manifest, ref: ObjectRef, fence: Fence): Promise<LiveObject> {
    const { apiVersion, kind, spec, metadata } = manifest
    const { name, namespace } = metadata
    const ours = [LABEL_MANAGED_BY, LABEL_DEPLOYMENT]
    const labels = Object.fromEntries(Object.entries(metadata.labels ?? {}).filter(([key]) => ours.includes(key)))
    const body = stamped({ apiVersion, kind, metadata: { name, namespace, labels }, spec }, fence, {})
    return api.call<LiveObject>(send('POST', ref, 'make', fence, body))
  }

  return {
    /**
     * Server-side apply, forced, against the version that was read, with the token. `objects` may show it later.
     * Nothing was written when it throws: StaleError (this object, or the anchor of an absent one, has a newer token),
     * LeaseOverError, NotNowError (the object is terminating, or it and its anchor are absent).
     */
    async apply(manifest: Manifest, fence: Fence): Promise<LiveObject> {
      const ref: ObjectRef = { ...manifest, ...manifest.metadata }
      // the last observed version, or absence, saves a read; an outdated one causes a conflict
      let observed = store.get(ref) ?? (isCurrent(ref) ? null : undefined)
      const write = (against: Parameters<typeof stamped>[2]) =>
        api.call<LiveObject>({
          ...send('PATCH', ref, 'apply', fence, stamped(manifest, fence, against)),
          query: { fieldManager: FIELD_MANAGER, force: 'true' },
          contentType: 'application/apply-patch+yaml',
        })
      const applied = await unlessConflict(ref, fence, async () => {
        const usable = observed?.metadata.deletionTimestamp ? undefined : observed
        observed = undefined
        const live = usable === undefined ? await readOnce(access, ref) : usable
        if (!live) await checkAnchor(manifest, fence)
        else if (live.metadata.deletionTimestamp) throw new NotNowError(`${named(ref)} is being deleted`)
        checkFence(fence, live)
        try {
          // with the uid, so that an apply can't recreate a deleted object
          return await write(live ? versionOf(live) : { resourceVersion: ABSENT_VERSION })
        } catch (error) {
          if (live || !(error instanceof ApiRefused && error.reason === NO_SUCH_VERSION)) throw error
          return await write(versionOf(await make(manifest, ref, fence)))
        }
      })
      if (anchorOf(manifest)?.name === manifest.metadata.name) writtenAnchors.set(manifest.metadata.name, applied)
      return applied
    },

    /**
     * Writes only the token, so that older holders can't write the object. Skips absent and terminating objects.
     * Throws StaleError and LeaseOverError.
     */
    async writeToken(ref: ObjectRef, fence: Fence): Promise<void> {
      await unlessConflict(ref, fence, async () => {
        const live = await readOnce(access, ref)
        checkFence(fence, live)
        if (!live || live.metadata.deletionTimestamp) return
        const annotations = { [ANNOTATION_TOKEN]: String(fence.token) }
        await api.call({
          ...send('PATCH', ref, 'mark', fence, { metadata: { ...versionOf(live), annotations } }),
          contentType: 'application/merge-patch+json',
        })
      })
    },

    /**
     * Deletes an object with the observed uid, unless a newer holder has it. The watch shows its end.
     * Foreground: dependents go first. Throws StaleError and LeaseOverError.
     */
    async remove(
      object: LiveObject,
      fence: Fence,
      propagationPolicy: 'Foreground' | 'Background' = 'Background',
    ): Promise<void> {
      const ref: ObjectRef = { ...object, ...object.metadata }
      let observed: LiveObject | undefined = object
      await unlessConflict(ref, fence, async () => {
        const live = observed ?? (await readOnce(access, ref))
        observed = undefined
        if (live?.metadata.uid !== object.metadata.uid || live.metadata.deletionTimestamp) return
        checkFence(fence, live)
        const options = {
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy,
          preconditions: versionOf(live),
        }
        try {
          await api.call(send('DELETE', ref, 'delete', fence, options))
        } catch (error) {
          if (!(error instanceof ApiRefused) || error.status !== 404) throw error
        }
      })
    },
  }
}

const versionOf = ({ metadata: { uid, resourceVersion } }: LiveObject) => ({ uid, resourceVersion })
