/**
 * The store of the informers: our objects as last observed, found by deployment. Only reflectors write here, so that
 * what is known never goes back in time.
 */

import type { Api } from '../api-server/api.ts'
import type { Kind, ObjectRef } from '../api-server/kinds.ts'
import type { ClusterTimes } from '../api-server/times.ts'
import { LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'

/** What informers, and calls about single objects, work with. */
export interface ClusterAccess {
  api: Api
  store: Store
  times: ClusterTimes
  /** whether the store has all there is of a kind in a namespace, as far as we know */
  isCurrent: (ref: Pick<ObjectRef, 'apiVersion' | 'kind' | 'namespace'>) => boolean
}

const keyOf = (ref: ObjectRef) => `${ref.kind}/${ref.namespace}/${ref.name}`

export class Store {
  readonly #objects = new Map<string, LiveObject>()
  readonly #byDeployment = new Map<string, Map<string, LiveObject>>()
  readonly #listeners = new Set<(deploymentId: string) => void>()
  #changed = new Set<string>()

  get(ref: ObjectRef): LiveObject | undefined {
    return this.#objects.get(keyOf(ref))
  }

  of(deploymentId: string): LiveObject[] {
    return [...(this.#byDeployment.get(deploymentId)?.values() ?? [])]
  }

  /** It was observed like this. */
  put(object: LiveObject): void {
    const key = keyOf({ ...object, ...object.metadata })
    const before = this.#objects.get(key)
    const { uid, resourceVersion } = object.metadata
    if (before?.metadata.uid === uid && before.metadata.resourceVersion === resourceVersion) return
    if (before) this.#forget(key, before)
    const kept = strip(object)
    this.#objects.set(key, kept)
    const owner = ownerOf(kept)
    const siblings = this.#byDeployment.get(owner) ?? new Map<string, LiveObject>()
    this.#byDeployment.set(owner, siblings.set(key, kept))
    this.#notify(owner)
  }

  /** It was observed removed, or is not ours any more. */
  remove(ref: ObjectRef): void {
    const key = keyOf(ref)
    const before = this.#objects.get(key)
    if (before) this.#forget(key, before)
  }

  /** All of a kind and namespace were listed: what is not in `keep` (names) was removed while nobody watched. */
  retain(kind: Kind, namespace: string, keep: Set<string>): void {
    for (const [key, object] of this.#objects) {
      const { metadata } = object
      if (object.kind === kind.kind && metadata.namespace === namespace && !keep.has(metadata.name))
        this.#forget(key, object)
    }
  }

  /** Something has changed for all that is in a namespace, though none of its objects: what may be made there. */
  touch(namespace: string): void {
    for (const [owner, objects] of this.#byDeployment)
      if ([...objects.values()].some(({ metadata }) => metadata.namespace === namespace)) this.#notify(owner)
  }

  onChange(listener: (deploymentId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #forget(key: string, object: LiveObject): void {
    const owner = ownerOf(object)
    const siblings = this.#byDeployment.get(owner)
    this.#objects.delete(key)
    siblings?.delete(key)
    if (siblings?.size === 0) this.#byDeployment.delete(owner)
    this.#notify(owner)
  }

  #notify(owner: string): void {
    if (this.#changed.size === 0) {
      setImmediate(() => {
        const changed = this.#changed
        this.#changed = new Set()
        for (const deploymentId of changed) for (const listener of this.#listeners) listener(deploymentId)
      })
    }
    this.#changed.add(owner)
  }
}

/**
 * By label and name together: an object that somebody gave another deployment's label must not be removed as a leftover
 * of that one. What is of no deployment is kept under '': nobody asks for it.
 */
function ownerOf({ metadata: { name, labels } }: LiveObject): string {
  const deploymentId = labels?.[LABEL_DEPLOYMENT]
  return deploymentId && name.startsWith(namesOf(deploymentId).base) ? deploymentId : ''
}

/** where `kubectl apply` of old keeps a whole copy of the object */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** What is kept of an object in memory: not who owns which field (often larger than the rest), and no secrets. */
function strip(object: LiveObject): LiveObject {
  const { managedFields: _, ...metadata } = object.metadata as LiveObject['metadata'] & { managedFields?: unknown }
  const kept: LiveObject = { ...object, metadata }
  if (metadata.annotations && LAST_APPLIED in metadata.annotations) {
    const { [LAST_APPLIED]: __, ...annotations } = metadata.annotations
    kept.metadata = { ...metadata, annotations }
  }
  if (object.kind === 'Secret') {
    delete kept.data
    delete kept.stringData
  }
  return kept
}
