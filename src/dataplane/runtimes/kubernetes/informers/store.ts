/**
 * The store of the informers: our objects as last observed, found by deployment. Only reflectors write here, so that
 * what is known never goes back in time.
 */

import type { Api } from '../api-server/api.ts'
import { ENDPOINTS, type Kind, type ObjectRef } from '../api-server/kinds.ts'
import type { ClusterTimes } from '../api-server/times.ts'
import { FIELD_MANAGER, LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
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

interface Observed {
  object: LiveObject
  /** id of its deployment; '' for an object that we did not make */
  owner: string
}

export class Store {
  readonly #objects = new Map<string, Observed>()
  readonly #byDeployment = new Map<string, Map<string, LiveObject>>()
  readonly #listeners = new Set<(deploymentId: string) => void>()
  #changed = new Set<string>()

  get(ref: ObjectRef): LiveObject | undefined {
    return this.#objects.get(keyOf(ref))?.object
  }

  byDeployment(deploymentId: string): LiveObject[] {
    return [...(this.#byDeployment.get(deploymentId)?.values() ?? [])]
  }

  /** It was observed like this. */
  put(object: LiveObject): void {
    const key = keyOf({ ...object, ...object.metadata })
    const before = this.#objects.get(key)
    const { uid, resourceVersion } = object.metadata
    if (before?.object.metadata.uid === uid && before.object.metadata.resourceVersion === resourceVersion) return
    if (before) this.#forget(key, before)
    const kept = strip(object)
    const owner = ownerOf(object)
    this.#objects.set(key, { object: kept, owner })
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
    for (const [key, observed] of this.#objects) {
      const { kind: is, metadata } = observed.object
      if (is === kind.kind && metadata.namespace === namespace && !keep.has(metadata.name)) this.#forget(key, observed)
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

  #forget(key: string, { owner }: Observed): void {
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

/** The cluster makes these. All other kinds are applied by us, under our field manager. */
const MADE_BY_CLUSTER: readonly string[] = ['Pod', ENDPOINTS.kind]

type Managed = LiveObject['metadata'] & { managedFields?: { manager?: string }[] }

/**
 * The deployment that an object belongs to; '' for none, and for an object with another maker. Copies (Kyverno,
 * kustomize) have our labels but not our field manager: they must not be removed as leftovers. Neither must an object
 * that got the label of another deployment: its name tells.
 */
function ownerOf({ kind, metadata }: LiveObject): string {
  const deploymentId = metadata.labels?.[LABEL_DEPLOYMENT]
  if (!deploymentId || !metadata.name.startsWith(namesOf(deploymentId).base)) return ''
  const { managedFields = [] } = metadata as Managed
  const isMade = MADE_BY_CLUSTER.includes(kind) || managedFields.some(({ manager }) => manager === FIELD_MANAGER)
  return isMade ? deploymentId : ''
}

/** where `kubectl apply` of old keeps a whole copy of the object */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/** What is kept of an object in memory: not who owns which field (often larger than the rest), and no secrets. */
function strip(object: LiveObject): LiveObject {
  const { managedFields: _, ...metadata } = object.metadata as Managed
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
