/** Shared by the controllers that make pods: a pod from a template, readiness, and the order of deletion. */
import { createHash } from 'node:crypto'
import { type Context, keyOf } from '../context.ts'
import { type Kind, kindNamed } from '../kinds.ts'
import { clone, controllerOf, type Json, type KubeObject, ownerReference, randomSuffix } from '../objects.ts'
import { ApiError } from '../status.ts'

export const POD = kindNamed('Pod')
export const CONTROLLER = { manager: 'kube-controller-manager' }

/** A short hash of a template. */
export function hashOf(template: Json): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789'
  const digest = createHash('sha256').update(JSON.stringify(template)).digest()
  return [...digest.subarray(0, 10)].map((byte) => letters[byte % letters.length]).join('')
}

/** The pod has not ended and is not terminating. */
export const isActive = ({ metadata, status }: KubeObject): boolean =>
  !metadata.deletionTimestamp && !['Succeeded', 'Failed'].includes(status?.phase)

function readySince({ status }: KubeObject): number | null {
  const ready = status?.conditions?.find((c: Json) => c.type === 'Ready')
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime) : null
}

export const isReady = (pod: KubeObject): boolean => readySince(pod) !== null

/** Milliseconds until the pod has been ready long enough; 0: it has been; null: it is not ready. */
export function availableIn(pod: KubeObject, minReadySeconds = 0): number | null {
  const since = readySince(pod)
  if (since === null) return null
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - Date.now())
}

/** Pods by their controlling object, from an index that pod changes update. */
export class OwnedPods {
  readonly #context: Context
  readonly #byOwner = new Map<string, Set<string>>()

  /** @param changed called with the owner's key when one of its pods changed */
  constructor(context: Context, kind: Kind, changed: (ownerKey: string) => void) {
    this.#context = context
    context.store.onChange(({ kind: changedKind, type, object }) => {
      if (changedKind !== POD) return
      const owner = controllerOf(object)
      if (owner?.kind !== kind.kind) return
      const pods = this.#byOwner.get(owner.uid) ?? new Set()
      this.#byOwner.set(owner.uid, pods)
      if (type === 'DELETED') pods.delete(keyOf(object))
      else pods.add(keyOf(object))
      changed(`${object.metadata.namespace}/${owner.name}`)
    })
  }

  ownedBy(owner: KubeObject): KubeObject[] {
    return [...(this.#byOwner.get(owner.metadata.uid) ?? [])].flatMap((key) => {
      const pod = this.#context.store.get(POD, owner.metadata.namespace, key.split('/')[1]!)
      return pod ? [pod] : []
    })
  }
}

/** Creates a pod from a template. Returns the message of a refusal, or null. */
export function createPod(
  { api, event }: Context,
  owner: KubeObject,
  template: Json,
  component: string,
  change: (pod: Json) => void = () => {},
): string | null {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  const pod: Json = {
    metadata: {
      name: `${owner.metadata.name}-${randomSuffix()}`,
      generateName: `${owner.metadata.name}-`,
      ...clone({ labels, annotations, finalizers }),
      ownerReferences: [ownerReference(owner)],
    },
    spec: clone(template.spec),
  }
  change(pod)
  try {
    api.create(POD, owner.metadata.namespace, pod, CONTROLLER)
    event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`, component)
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    event(owner, 'Warning', 'FailedCreate', `Error creating: ${error.message}`, component)
    return error.message
  }
}

/** Sorts pods by deletion order: without a node, not running, not ready, then the newest. */
export function inOrderOfDeletion(pods: KubeObject[]): KubeObject[] {
  const rank = (pod: KubeObject): number => {
    if (!pod.spec.nodeName) return 0
    if (pod.status?.phase !== 'Running') return 1
    return isReady(pod) ? 3 : 2
  }
  const age = (pod: KubeObject): number => Number(pod.metadata.resourceVersion)
  return [...pods].sort((a, b) => rank(a) - rank(b) || age(b) - age(a))
}
