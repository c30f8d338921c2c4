/**
 * The API server's verbs, without HTTP and permissions. Clients call it through http.ts, controllers directly. Order
 * of a write: admission, version, defaults, immutable fields, validation, field owners. An unchanged object is not
 * written.
 */
import { randomUUID } from 'node:crypto'
import { admit } from './admission.ts'
import { applied, ownersAfterUpdate, type Writer } from './apply.ts'
import { withDefaults } from './defaults.ts'
import { groupVersion, type Kind } from './kinds.ts'
import { clone, equal, type Json, type KubeObject, randomSuffix, timestamp } from './objects.ts'
import { ApiError, alreadyExists, badRequest, conflict, notFound, stale } from './status.ts'
import type { Store } from './store.ts'
import { validate } from './validate.ts'

export interface WriteOptions {
  manager: string
  subresource?: string
  dryRun?: boolean
}

export interface ApplyOptions extends WriteOptions {
  force?: boolean
}

export interface DeleteOptions {
  gracePeriodSeconds?: number
  propagationPolicy?: 'Foreground' | 'Background' | 'Orphan'
  preconditions?: { uid?: string; resourceVersion?: string }
  dryRun?: boolean
}

export interface Written {
  object: KubeObject
  created: boolean
}

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

  get(kind: Kind, namespace: string | undefined, name: string): KubeObject {
    const object = this.store.get(kind, namespace, name)
    if (!object) throw notFound(kind, name)
    return object
  }

  create(kind: Kind, namespace: string | undefined, body: Json, options: WriteOptions): KubeObject {
    const metadata = { ...body.metadata }
    if (metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created')
    if (!metadata.name && metadata.generateName) metadata.name = `${metadata.generateName}${randomSuffix()}`
    const object = this.#newObject(kind, namespace, { ...body, metadata })
    if (kind.status) delete object.status
    if (this.store.get(kind, namespace, object.metadata.name)) {
      throw alreadyExists(kind, object.metadata.name)
    }
    object.metadata.managedFields = undefined
    return this.#insert(kind, object, options, 'Update')
  }

  /** PUT: replaces the object, except for server-managed members. */
  update(kind: Kind, namespace: string | undefined, name: string, body: Json, options: WriteOptions): KubeObject {
    const live = this.get(kind, namespace, name)
    const next = clone(body) as KubeObject
    next.metadata ??= {} as KubeObject['metadata']
    // an empty list resets the owners; otherwise the server keeps managedFields
    return this.#replace(kind, live, next, options, null)
  }

  /** A controller's write: `change` edits a copy of the newest version. Returns undefined if the object is deleted. */
  modify(
    kind: Kind,
    object: KubeObject,
    change: (copy: KubeObject) => void,
    options: WriteOptions,
  ): KubeObject | undefined {
    const live = this.store.get(kind, object.metadata.namespace, object.metadata.name)
    if (!live || live.metadata.uid !== object.metadata.uid) return undefined
    const next = clone(live)
    change(next)
    return this.#replace(kind, live, next, options, null)
  }

  apply(kind: Kind, namespace: string | undefined, name: string, config: Json, options: ApplyOptions): Written {
    if (config.metadata?.managedFields) throw badRequest('metadata.managedFields must be nil')
    const live = this.store.get(kind, namespace, name) ?? null
    if (!live && options.subresource) throw notFound(kind, name)
    if (!live && config.metadata?.uid) {
      const uid = config.metadata.uid
      const why = `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`
      throw conflict(kind, name, why)
    }
    const writer = this.#writer(kind, options, 'Apply')
    const rules = { force: options.force ?? false, hasStatus: kind.status, minor: this.minor }
    const merged = applied(live, config, writer, rules)
    if (live)
      return { object: this.#replace(kind, live, merged, options, merged.metadata.managedFields), created: false }
    // The real server also ignores the resourceVersion of an apply that creates. Separate code creates Services in
    // versions before 1.23.
    if (kind.kind === 'Service' && this.minor < 23 && config.metadata?.resourceVersion)
      throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created')
    const object = this.#newObject(kind, namespace, merged)
    object.metadata.managedFields = merged.metadata.managedFields
    if (kind.status) delete object.status
    return { object: this.#insert(kind, object, options, 'Apply'), created: true }
  }

  /** The object after the call. `gone`: it is deleted. */
  delete(
    kind: Kind,
    namespace: string | undefined,
    name: string,
    options: DeleteOptions = {},
  ): Written & { gone: boolean } {
    const live = this.get(kind, namespace, name)
    const { uid, resourceVersion } = options.preconditions ?? {}
    const mismatch = (member: string, expected: string, is: string) =>
      conflict(
        kind,
        name,
        `Precondition failed: ${member} in precondition: ${expected}, ${member} in object meta: ${is}`,
      )
    if (uid && uid !== live.metadata.uid) throw mismatch('UID', uid, live.metadata.uid)
    if (resourceVersion && resourceVersion !== live.metadata.resourceVersion) {
      throw mismatch('ResourceVersion', resourceVersion, live.metadata.resourceVersion)
    }
    if (options.dryRun) return { object: live, created: false, gone: false }
    const next = clone(live)
    const finalizers = new Set(next.metadata.finalizers ?? [])
    if (options.propagationPolicy === 'Foreground') finalizers.add('foregroundDeletion')
    if (options.propagationPolicy === 'Orphan') finalizers.add('orphan')
    if (kind.kind === 'Namespace') next.status = { ...next.status, phase: 'Terminating' }
    const grace = graceOf(kind, live, options.gracePeriodSeconds)
    const waits = finalizers.size > 0 || grace > 0 || (kind.kind === 'Namespace' && next.spec?.finalizers?.length > 0)
    if (!waits) return { object: this.store.delete(kind, next), created: false, gone: true }
    const already = live.metadata.deletionTimestamp !== undefined
    if (already && finalizers.size === (live.metadata.finalizers?.length ?? 0) && !(grace < graceLeft(live))) {
      return { object: live, created: false, gone: false }
    }
    next.metadata.finalizers = finalizers.size > 0 ? [...finalizers] : undefined
    next.metadata.deletionTimestamp = timestamp(Date.now() + grace * 1000)
    next.metadata.deletionGracePeriodSeconds = grace
    if (kind.generation && !already) next.metadata.generation = (next.metadata.generation ?? 0) + 1
    return { object: this.store.put(kind, JSON.parse(JSON.stringify(next))), created: false, gone: false }
  }

  #writer(kind: Kind, { manager, subresource }: WriteOptions, operation: Writer['operation']): Writer {
    return { manager, operation, apiVersion: groupVersion(kind), ...(subresource ? { subresource } : {}) }
  }

  #newObject(kind: Kind, namespace: string | undefined, body: Json): KubeObject {
    const {
      resourceVersion: _v,
      deletionTimestamp: _d,
      deletionGracePeriodSeconds: _g,
      selfLink: _s,
      ...metadata
    } = body.metadata ?? {}
    return clone({
      ...body,
      apiVersion: groupVersion(kind),
      kind: kind.kind,
      metadata: {
        ...metadata,
        ...(kind.namespaced ? { namespace } : {}),
        uid: randomUUID(),
        creationTimestamp: timestamp(),
        ...(kind.generation ? { generation: 1 } : {}),
      },
    })
  }

  #insert(kind: Kind, raw: KubeObject, options: WriteOptions, operation: Writer['operation']): KubeObject {
    let object = withDefaults(kind, raw, null, this.store)
    object = admit(this.store, kind, object, null)
    validate(kind, object, null)
    if (operation === 'Update') {
      object.metadata.managedFields = ownersAfterUpdate(null, object, this.#writer(kind, options, operation))
    }
    return options.dryRun ? object : this.store.put(kind, object)
  }

  /** @param owners the new managedFields; null: derived from the changed fields */
  #replace(
    kind: Kind,
    live: KubeObject,
    raw: KubeObject,
    options: WriteOptions,
    owners: KubeObject['metadata']['managedFields'] | null,
  ): KubeObject {
    const { name, namespace, uid, resourceVersion } = live.metadata
    if (raw.metadata.resourceVersion && raw.metadata.resourceVersion !== resourceVersion) throw stale(kind, name)
    if (raw.metadata.uid && raw.metadata.uid !== uid) {
      const why = `Precondition failed: UID in precondition: ${raw.metadata.uid}, UID in object meta: ${uid}`
      throw conflict(kind, name, why)
    }
    let next: KubeObject = { ...raw, apiVersion: live.apiVersion, kind: live.kind, metadata: { ...raw.metadata } }
    if (options.subresource === 'status') next = { ...live, metadata: { ...live.metadata }, status: raw.status }
    else if (kind.status) next.status = live.status
    Object.assign(next.metadata, { name, ...(namespace === undefined ? {} : { namespace }), resourceVersion })
    for (const member of SERVER_KEPT) (next.metadata as Json)[member] = live.metadata[member]
    next = withDefaults(kind, next, live, this.store)
    if (options.subresource !== 'status') next = admit(this.store, kind, next, live)
    validate(kind, next, live)
    if (kind.generation && !equal(next.spec, live.spec)) next.metadata.generation = (live.metadata.generation ?? 0) + 1
    const writer = this.#writer(kind, options, 'Update')
    next.metadata.managedFields = owners ?? ownersAfterUpdate(live, next, writer)
    if (same(next, live) || options.dryRun) return options.dryRun ? next : live
    if (
      live.metadata.deletionTimestamp &&
      !next.metadata.finalizers?.length &&
      !live.metadata.deletionGracePeriodSeconds
    ) {
      if (kind.kind !== 'Namespace' || !next.spec?.finalizers?.length) return this.store.delete(kind, next)
    }
    return this.store.put(kind, next)
  }
}

/** True: only times in managedFields differ, so nothing is written. */
function same(a: KubeObject, b: KubeObject): boolean {
  const strip = (object: KubeObject) => ({
    ...object,
    metadata: { ...object.metadata, managedFields: object.metadata.managedFields?.map((e) => ({ ...e, time: '' })) },
  })
  return equal(strip(a), strip(b))
}

/** Grace period of a pod in seconds. Other objects are deleted immediately. */
function graceOf(kind: Kind, object: KubeObject, expected: number | undefined): number {
  if (kind.kind !== 'Pod') return 0
  if (!object.spec.nodeName || ['Succeeded', 'Failed'].includes(object.status?.phase)) return 0
  return expected ?? object.spec.terminationGracePeriodSeconds ?? 30
}

const graceLeft = (object: KubeObject): number => object.metadata.deletionGracePeriodSeconds ?? 0
