/** The ReplicaSet controller: keeps the desired number of pods and reports refusals in ReplicaFailure. */
import { type Context, reconciling } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { type KubeObject, timestamp } from '../objects.ts'
import { availableIn, createPod, deletePod, inOrderOfDeletion, isActive, ownedPods } from './pods.ts'

export const REPLICA_SET = kindNamed('ReplicaSet')

export function startReplicaSets(context: Context): void {
  const queue = reconciling(context, REPLICA_SET, (set, key) => {
    const failure = set.metadata.deletionTimestamp ? null : reconcile(context, set, podsOf(set).filter(isActive))
    queue.retryIf(failure !== null, key)
    const wait = writeStatus(context, set, podsOf(set).filter(isActive), failure)
    if (wait > 0) queue.add(key, wait)
  })
  const podsOf = ownedPods(context, REPLICA_SET, (key) => queue.add(key))
}

/** Returns the message of a refusal, or null. */
function reconcile(context: Context, set: KubeObject, pods: KubeObject[]): string | null {
  const missing = set.spec.replicas - pods.length
  for (const pod of inOrderOfDeletion(pods).slice(0, Math.max(0, -missing))) deletePod(context, pod)
  for (let n = 0; n < missing; n++) {
    const failure = createPod(context, set)
    if (failure !== null) return failure
  }
  return null
}

/** Milliseconds until one more pod counts as available; 0: no pod only waits for that. */
function writeStatus({ api }: Context, set: KubeObject, pods: KubeObject[], failure: string | null): number {
  const times = pods.flatMap((pod) => availableIn(pod, set.spec.minReadySeconds) ?? [])
  const refused = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', lastTransitionTime: timestamp() }
  // the first refusal stays in the status until pods can be created again
  const conditions = failure === null ? [] : (set.status?.conditions?.slice(0, 1) ?? [])
  if (failure !== null && conditions.length === 0) conditions.push({ ...refused, message: failure })
  api.setStatus(REPLICA_SET, set, {
    replicas: pods.length,
    readyReplicas: times.length,
    availableReplicas: times.filter((ms) => ms === 0).length,
    observedGeneration: set.metadata.generation,
    conditions,
  })
  return Math.max(0, ...times)
}
