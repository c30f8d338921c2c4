/** The informers' store: last observed objects by deployment. Only reflectors write it, so no object gets older. */
import type { Api } from '../api-server/api.ts'
import { ENDPOINTS, type Kind, type ObjectRef } from '../api-server/kinds.ts'
import type { ClusterTimes } from '../api-server/retry.ts'
import { isOurs, type Managed, ownedFields } from '../objects/managed-fields.ts'
import { LABEL_DEPLOYMENT, namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'

/** Dependencies of informers and of calls about single objects. */
export interface ClusterAccess {
  api: Api
  store: Store
  times: ClusterTimes
  isCurrent: (ref: Pick<ObjectRef, 'apiVersion' | 'kind' | 'namespace'>) => boolean
}

const keyOf = (ref: ObjectRef) => `${ref.kind}/${ref.namespace}/${ref.name}`

interface Observed {
  object: LiveObject
  /** id of its deployment; '' for an object that another manager made */
  deploymentId: string
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

  put(object: LiveObject): void {
    const key = keyOf({ ...object, ...object.metadata })
    const before = this.#objects.get(key)
    const { uid, resourceVersion } = object.metadata
    if (before?.object.metadata.uid === uid && before.object.metadata.resourceVersion === resourceVersion) return
    if (before) this.#forget(key, before)
    const kept = strip(object)
    const deploymentId = ownerOf(object)
    this.#objects.set(key, { object: kept, deploymentId })
    const siblings = this.#byDeployment.get(deploymentId) ?? new Map<string, LiveObject>()
    this.#byDeployment.set(deploymentId, siblings.set(key, kept))
    this.#notify(deploymentId)
  }

  /** Removes a deleted object, or one that no longer belongs to Pilothouse. */
  remove(ref: ObjectRef): void {
    const key = keyOf(ref)
    const before = this.#objects.get(key)
    if (before) this.#forget(key, before)
  }

  /** After a full list of a kind and namespace: removes all objects that are not in `keep` (names). */
  retain(kind: Kind, namespace: string, keep: Set<string>): void {
    for (const [key, observed] of this.#objects) {
      const { kind: is, metadata } = observed.object
      if (is === kind.kind && metadata.namespace === namespace && !keep.has(metadata.name)) this.#forget(key, observed)
    }
  }

  /** Notifies all deployments of a namespace when the available kinds change without a changed object. */
  touch(namespace: string): void {
    for (const [deploymentId, objects] of this.#byDeployment)
      if ([...objects.values()].some(({ metadata }) => metadata.namespace === namespace)) this.#notify(deploymentId)
  }

  onChange(listener: (deploymentId: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #forget(key: string, { deploymentId }: Observed): void {
    const siblings = this.#byDeployment.get(deploymentId)
    this.#objects.delete(key)
    siblings?.delete(key)
    if (siblings?.size === 0) this.#byDeployment.delete(deploymentId)
    this.#notify(deploymentId)
  }

  #notify(deploymentId: string): void {
    if (this.#changed.size === 0) {
      setImmediate(() => {
        const changed = this.#changed
        this.#changed = new Set()
        for (const deploymentId of changed) for (const listener of this.#listeners) listener(deploymentId)
      })
    }
    this.#changed.add(deploymentId)
  }
}

/** Kinds that the cluster creates. Pilothouse applies all other kinds with its field manager. */
const MADE_BY_CLUSTER: readonly string[] = ['Pod', ENDPOINTS.kind]

/**
 * Deployment of an object; '' for none or for another manager's object. Not by label: copies (Kyverno, kustomize) and
 * objects that got another deployment's label must not be pruned. Field manager and name decide.
 */
function ownerOf({ kind, metadata }: LiveObject): string {
  const deploymentId = metadata.labels?.[LABEL_DEPLOYMENT]
  if (!deploymentId || !metadata.name.startsWith(namesOf(deploymentId).base)) return ''
  return MADE_BY_CLUSTER.includes(kind) || isOurs(metadata) ? deploymentId : ''
}

/** old versions of `kubectl apply` keep a copy of the object there */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'

/**
 * Removes field ownership (often most of the object) and secret values before the object is stored. A digest of the owned
 * fields stays.
 */
function strip(object: LiveObject): LiveObject {
  const { managedFields: _, ...metadata } = object.metadata as Managed
  const kept: LiveObject = { ...object, metadata }
  if (!MADE_BY_CLUSTER.includes(object.kind)) kept.ownedFields = ownedFields(object)
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
