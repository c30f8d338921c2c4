/**
 * The API server's verbs, without HTTP and permissions. Clients call it through http.ts, controllers directly. Order
 * of a write: version, defaults, admission, validation, field owners. An unchanged object is not written.
 */
import { randomUUID } from 'node:crypto'
import { applied, ownersAfterUpdate, type Writer } from './apply.ts'
import { definitionOf, schemaMistakes } from './custom.ts'
import { withDefaults } from './defaults.ts'
import { groupVersion, type Kind, kindNamed } from './kinds.ts'
import { clone, equal, type Json, type KubeObject, timestamp } from './objects.ts'
import { nano } from './quantity.ts'
import { charge } from './quota.ts'
import { ApiError, alreadyExists, badRequest, conflict, forbidden, invalid, notFound } from './status.ts'
import type { Store } from './store.ts'
import { validate } from './validate.ts'

export interface WriteOptions {
  manager: string
  dryRun?: boolean
}

export interface DeleteOptions {
  gracePeriodSeconds?: number
  propagationPolicy?: 'Foreground' | 'Background'
  preconditions?: { uid?: string; resourceVersion?: string }
}

const BY_CONTROLLER: WriteOptions = { manager: 'kube-controller-manager' }
/** members of metadata that no write changes */
const SERVER_KEPT = [
  'uid',
  'creationTimestamp',
  'generation',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const

export class Api {
  readonly store: Store
  /** minor version of the simulated cluster, as in 1.x */
  readonly minor: number

  constructor(store: Store, minor: number) {
    this.store = store
    this.minor = minor
  }

  isServed(kind: Kind): boolean {
    return kind.since <= this.minor && (!kind.custom || definitionOf(this.store, kind) !== undefined)
  }

  get(kind: Kind, namespace: string | undefined, name: string): KubeObject {
    const object = this.store.get(kind, namespace, name)
    if (!object) throw notFound(kind, name)
    return object
  }

  create(kind: Kind, namespace: string | undefined, body: Json, options = BY_CONTROLLER): KubeObject {
    if (body.metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created')
    if (this.store.get(kind, namespace, body.metadata.name)) throw alreadyExists(kind, body.metadata.name)
    const object = this.#newObject(kind, namespace, body)
    object.metadata.managedFields = ownersAfterUpdate(null, object, writerOf(kind, options, 'Update'))
    return this.store.put(kind, object)
  }

  /** Replaces the object, except for server-managed members. */
  update(kind: Kind, namespace: string | undefined, name: string, body: Json, options: WriteOptions): KubeObject {
    return this.#replace(kind, this.get(kind, namespace, name), clone(body), options)
  }

  /** A controller's write: `change` edits a copy of the newest version. Does nothing if the object is deleted. */
  modify(kind: Kind, object: KubeObject, change: (copy: KubeObject) => void): void {
    const live = this.#live(kind, object)
    if (!live) return
    const next = clone(live)
    change(next)
    this.#replace(kind, live, next, BY_CONTROLLER)
  }

  /** A controller's write of the status, which only it changes. */
  setStatus(kind: Kind, object: KubeObject, status: Json): void {
    const live = this.#live(kind, object)
    if (live && !equal(live.status, status)) this.store.put(kind, { ...live, status })
  }

  apply(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    config: Json,
    options: WriteOptions,
  ): { object: KubeObject; created: boolean } {
    const live = this.store.get(kind, namespace, name) ?? null
    const { uid, resourceVersion } = config.metadata
    if (!live && uid) throw conflict(kind, name, `uid mismatch: no object has the uid ${uid}`)
    const merged = applied(live, config, writerOf(kind, options, 'Apply'), this.minor)
    if (live)
      return { object: this.#replace(kind, live, merged, options, merged.metadata.managedFields), created: false }
    // The real server also ignores the resourceVersion of an apply that creates. Separate code creates Services in
    // versions before 1.23.
    if (kind.kind === 'Service' && this.minor < 23 && resourceVersion)
      throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created')
    return { object: this.store.put(kind, this.#newObject(kind, namespace, merged)), created: true }
  }

  delete(kind: Kind, namespace: string | undefined, name: string, options: DeleteOptions = {}): void {
    const live = this.get(kind, namespace, name)
    const { uid, resourceVersion } = options.preconditions ?? {}
    if ((uid ?? live.metadata.uid) !== live.metadata.uid) throw conflict(kind, name, 'Precondition failed: UID')
    if ((resourceVersion ?? live.metadata.resourceVersion) !== live.metadata.resourceVersion)
      throw conflict(kind, name, 'Precondition failed: ResourceVersion')
    const { finalizers: before = [], deletionTimestamp, deletionGracePeriodSeconds = 0, generation = 1 } = live.metadata
    const finalizers = new Set(before)
    if (options.propagationPolicy === 'Foreground') finalizers.add('foregroundDeletion')
    const grace = graceOf(kind, live, options.gracePeriodSeconds)
    if (finalizers.size === 0 && grace === 0) return void this.store.delete(kind, live)
    if (deletionTimestamp && finalizers.size === before.length && grace >= deletionGracePeriodSeconds) return
    const metadata: KubeObject['metadata'] = {
      ...live.metadata,
      deletionTimestamp: timestamp(Date.now() + grace * 1000),
      deletionGracePeriodSeconds: grace,
      ...(finalizers.size > 0 ? { finalizers: [...finalizers] } : {}),
      ...(kind.generation && !deletionTimestamp ? { generation: generation + 1 } : {}),
    }
    this.store.put(kind, { ...live, metadata })
  }

  #live(kind: Kind, { metadata }: KubeObject): KubeObject | undefined {
    const live = this.store.get(kind, metadata.namespace, metadata.name)
    return live?.metadata.uid === metadata.uid ? live : undefined
  }

  #validate(kind: Kind, object: KubeObject, live: KubeObject | null): void {
    validate(kind, object, live)
    const mistakes = kind.custom ? schemaMistakes(definitionOf(this.store, kind), object) : []
    if (mistakes.length > 0) throw invalid(kind, object.metadata.name, mistakes)
  }

  #newObject(kind: Kind, namespace: string | undefined, { status: _, ...body }: Json): KubeObject {
    const raw = clone({
      ...body,
      apiVersion: groupVersion(kind),
      kind: kind.kind,
      metadata: {
        ...body.metadata,
        ...(kind.namespaced ? { namespace } : {}),
        uid: randomUUID(),
        creationTimestamp: timestamp(),
        ...(kind.generation ? { generation: 1 } : {}),
      },
    })
    const object = withDefaults(kind, raw, null, this.store)
    this.#admit(kind, object)
    this.#validate(kind, object, null)
    return object
  }

  /** Refuses with 403 or 404, as namespace, service account and quota admission do. */
  #admit(kind: Kind, object: KubeObject): void {
    const { name, namespace } = object.metadata
    const home = kindNamed('Namespace')
    if (kind.namespaced && !this.store.get(home, undefined, namespace!)) throw notFound(home, namespace!)
    if (kind.kind !== 'Pod') return
    const account = object.spec.serviceAccountName
    if (!this.store.get(kindNamed('ServiceAccount'), namespace, account)) {
      const why = `error looking up service account ${namespace}/${account}: serviceaccount "${account}" not found`
      throw forbidden(kind, name, why)
    }
    charge(this.store, object)
  }

  /** @param owners the new managedFields; absent: derived from the changed fields */
  #replace(
    kind: Kind,
    live: KubeObject,
    raw: KubeObject,
    options: WriteOptions,
    owners?: KubeObject['metadata']['managedFields'],
  ): KubeObject {
    const { name, namespace, uid, resourceVersion, finalizers } = live.metadata
    if ((raw.metadata.resourceVersion ?? resourceVersion) !== resourceVersion)
      throw conflict(
        kind,
        name,
        'the object has been modified; please apply your changes to the latest version and try again',
      )
    if ((raw.metadata.uid ?? uid) !== uid) throw conflict(kind, name, 'Precondition failed: UID')
    const { apiVersion, kind: kindName, status } = live
    const metadata = { ...raw.metadata, name, ...(namespace ? { namespace } : {}), resourceVersion }
    for (const member of SERVER_KEPT) (metadata as Json)[member] = live.metadata[member]
    const next = withDefaults(kind, { ...raw, apiVersion, kind: kindName, metadata }, live, this.store)
    next.status = status
    if (kind.kind === 'PersistentVolumeClaim') this.#requireResizable(next, live)
    this.#validate(kind, next, live)
    if (kind.generation && !equal(next.spec, live.spec)) next.metadata.generation = live.metadata.generation! + 1
    next.metadata.managedFields = owners ?? ownersAfterUpdate(live, next, writerOf(kind, options, 'Update'))
    if (options.dryRun) return next
    if (isSame(next, live)) return live
    // the last finalizer of a deleted object was removed
    return finalizers && live.metadata.deletionTimestamp && !next.metadata.finalizers
      ? this.store.delete(kind, next)
      : this.store.put(kind, next)
  }

  #requireResizable(claim: KubeObject, live: KubeObject): void {
    const bytes = ({ spec }: KubeObject) => nano(spec.resources?.requests?.storage)
    const storageClass = this.store.get(kindNamed('StorageClass'), undefined, live.spec.storageClassName)
    if (bytes(claim) <= bytes(live) || storageClass?.allowVolumeExpansion) return
    const why =
      'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
    throw forbidden(kindNamed('PersistentVolumeClaim'), claim.metadata.name, why)
  }
}

const writerOf = (kind: Kind, { manager }: WriteOptions, operation: Writer['operation']): Writer => ({
  manager,
  operation,
  apiVersion: groupVersion(kind),
})

/** True: only times in managedFields differ, so nothing is written. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  const strip = (object: KubeObject) => ({
    ...object,
    status: object.status,
    metadata: { ...object.metadata, managedFields: object.metadata.managedFields?.map((e) => ({ ...e, time: '' })) },
  })
  return equal(strip(a), strip(b))
}

/** Grace period of a pod in seconds. Other objects are deleted immediately. */
function graceOf(kind: Kind, { spec, status }: KubeObject, expected: number | undefined): number {
  if (kind.kind !== 'Pod' || !spec.nodeName || ['Succeeded', 'Failed'].includes(status?.phase)) return 0
  return expected ?? spec.terminationGracePeriodSeconds
}
