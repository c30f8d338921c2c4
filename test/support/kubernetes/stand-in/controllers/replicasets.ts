/** The ReplicaSet controller: keeps the desired number of pods and reports refusals in ReplicaFailure. */
import { type Context, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { equal, type Json, type KubeObject, withCondition } from '../objects.ts'
import { availableIn, CONTROLLER, createPod, inOrderOfDeletion, isActive, OwnedPods, POD } from './pods.ts'

export const REPLICA_SET = kindNamed('ReplicaSet')
const COMPONENT = 'replicaset-controller'

export function startReplicaSets(context: Context): void {
  const { store } = context
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const set = store.get(REPLICA_SET, namespace, name)
    if (set) reconcile(context, set, pods, queue, key)
  })
  const pods = new OwnedPods(context, REPLICA_SET, (key) => queue.add(key))
  store.onChange(({ kind, type, object }) => {
    if (kind === REPLICA_SET && type !== 'DELETED') queue.add(`${object.metadata.namespace}/${object.metadata.name}`)
  })
}

function reconcile(context: Context, set: KubeObject, owned: OwnedPods, queue: WorkQueue, key: string): void {
  const { api, event } = context
  const { namespace, deletionTimestamp } = set.metadata
  let failure: string | null = null
  const pods = owned.ownedBy(set).filter(isActive)
  const missing = set.spec.replicas - pods.length
  if (!deletionTimestamp && missing > 0) {
    for (let n = 0; n < missing && failure === null; n++)
      failure = createPod(context, set, set.spec.template, COMPONENT)
  } else if (!deletionTimestamp && missing < 0) {
    for (const pod of inOrderOfDeletion(pods).slice(0, -missing)) {
      api.delete(POD, namespace, pod.metadata.name, { preconditions: { uid: pod.metadata.uid } })
      event(set, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`, COMPONENT)
    }
  }
  if (failure) queue.retry(key)
  else queue.succeeded(key)
  const waits = writeStatus(context, set, owned.ownedBy(set).filter(isActive), failure)
  if (waits > 0) queue.add(key, waits)
}

/** Milliseconds until one more pod counts as available; 0: no pod only waits for that. */
function writeStatus({ api }: Context, set: KubeObject, pods: KubeObject[], failure: string | null): number {
  const times = pods.map((pod) => availableIn(pod, set.spec.minReadySeconds))
  const ready = times.filter((ms) => ms !== null).length
  const available = times.filter((ms) => ms === 0).length
  const others = (set.status?.conditions ?? []).filter((c: Json) => c.type !== 'ReplicaFailure')
  const refused = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: failure }
  const before = set.status?.conditions?.find((c: Json) => c.type === 'ReplicaFailure')
  // the first refusal stays in the status until pods can be created again
  const conditions = failure ? (before ? set.status.conditions : withCondition(others, refused)) : others
  const status = {
    replicas: pods.length,
    ...(pods.length > 0 ? { fullyLabeledReplicas: pods.length } : {}),
    ...(ready > 0 ? { readyReplicas: ready } : {}),
    ...(available > 0 ? { availableReplicas: available } : {}),
    observedGeneration: set.metadata.generation,
    ...(conditions.length > 0 ? { conditions } : {}),
  }
  if (!equal(status, set.status)) {
    const change = (copy: KubeObject) => {
      copy.status = status
    }
    api.modify(REPLICA_SET, set, change, { ...CONTROLLER, subresource: 'status' })
  }
  return Math.max(0, ...times.filter((ms) => ms !== null))
}
