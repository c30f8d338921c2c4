/** Shared by the controllers that make pods: a pod from a template, readiness, and an index of owned pods. */
import { createHash } from 'node:crypto'
import type { Context } from '../context.ts'
import { type Kind, kindNamed } from '../kinds.ts'
import { clone, controllerOf, type Json, type KubeObject, ownerReference, randomSuffix } from '../objects.ts'
import { ApiError } from '../status.ts'

export const POD = kindNamed('Pod')

/** A short hash of a template. */
export const hashOf = (template: Json): string =>
  createHash('sha256').update(JSON.stringify(template)).digest('hex').slice(0, 10)

/** The pod has not ended and is not terminating. */
export const isActive = ({ metadata, status }: KubeObject): boolean =>
  !metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(status?.phase)

function readySince({ status }: KubeObject): number | null {
  const ready = status?.conditions?.find(({ type }: Json) => type === 'Ready')
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : null
}

export const isReady = (pod: KubeObject): boolean => readySince(pod) !== null

/** Milliseconds until the pod has been ready long enough; 0: it has been; null: it is not ready. */
export function availableIn(pod: KubeObject, minReadySeconds = 0): number | null {
  const since = readySince(pod)
  if (since === null) return null
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - Date.now())
}

/** Returns a function that lists the pods that an object controls. `changed` gets the key of such an object. */
export function ownedPods(
  { store }: Context,
  kind: Kind,
  changed: (ownerKey: string) => void,
): (owner: KubeObject) => KubeObject[] {
  const byOwner = new Map<string, Set<string>>()
  store.onChange(({ kind: changedKind, type, object }) => {
    const owner = controllerOf(object)
    if (changedKind !== POD || owner?.kind !== kind.kind) return
    const names = byOwner.get(owner.uid) ?? new Set()
    byOwner.set(owner.uid, names)
    if (type === 'DELETED') names.delete(object.metadata.name)
    else names.add(object.metadata.name)
    changed(`${object.metadata.namespace}/${owner.name}`)
  })
  return ({ metadata }) =>
    [...(byOwner.get(metadata.uid) ?? [])].flatMap((name) => store.get(POD, metadata.namespace, name) ?? [])
}

/** Creates a pod from the owner's template. Returns the message of a refusal, or null. */
export function createPod(
  { api, warn }: Context,
  owner: KubeObject,
  name = `${owner.metadata.name}-${randomSuffix()}`,
  extraLabels = {},
): string | null {
  const { metadata, spec } = clone(owner.spec.template)
  const labels = { ...metadata?.labels, ...extraLabels }
  const pod = { metadata: { ...metadata, name, labels, ownerReferences: [ownerReference(owner)] }, spec }
  try {
    api.create(POD, owner.metadata.namespace, pod)
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    warn(owner, 'FailedCreate', `Error creating: ${error.message}`)
    return error.message
  }
}

export function deletePod({ api }: Context, { metadata }: KubeObject): void {
  if (!metadata.deletionTimestamp) api.delete(POD, metadata.namespace, metadata.name)
}

/** The first pods to delete: without a node, not running, not ready, then the newest. */
export function inOrderOfDeletion(pods: KubeObject[]): KubeObject[] {
  const rank = (pod: KubeObject): number => {
    if (!pod.spec.nodeName) return 0
    if (pod.status?.phase !== 'Running') return 1
    return isReady(pod) ? 3 : 2
  }
  const version = (pod: KubeObject): number => Number(pod.metadata.resourceVersion)
  return [...pods].sort((a, b) => rank(a) - rank(b) || version(b) - version(a))
}
