/**
 * The StatefulSet controller: numbered pods. As in a real cluster, a pod of an old template that never gets ready is
 * replaced only with podManagementPolicy `Parallel`.
 */
import { type Context, reconciling } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'
import { createPod, deletePod, hashOf, isReady, ownedPods } from './pods.ts'

const STATEFUL_SET = kindNamed('StatefulSet')
const REVISION = 'controller-revision-hash'

export function startStatefulSets(context: Context): void {
  const queue = reconciling(context, STATEFUL_SET, (set, key) => {
    const revision = `${set.metadata.name}-${hashOf(set.spec.template)}`
    const isGoing = set.metadata.deletionTimestamp !== undefined
    queue.retryIf(!isGoing && reconcile(context, set, podsOf(set), revision) !== null, key)
    writeStatus(context, set, podsOf(set), revision)
  })
  const podsOf = ownedPods(context, STATEFUL_SET, (key) => queue.add(key))
}

/** Returns the message of a refusal, or null. */
function reconcile(context: Context, set: KubeObject, pods: KubeObject[], revision: string): string | null {
  const { replicas, podManagementPolicy, updateStrategy } = set.spec
  for (let n = 0; n < replicas; n++) {
    const name = `${set.metadata.name}-${n}`
    const pod = pods.find(({ metadata }) => metadata.name === name)
    if (!pod) {
      const refusal = createPod(context, set, name, { [REVISION]: revision })
      if (refusal !== null) return refusal
      continue
    }
    const isOld =
      pod.metadata.labels?.[REVISION] !== revision && n >= (updateStrategy.rollingUpdate?.partition ?? n + 1)
    const mayGo = podManagementPolicy === 'Parallel' || isReady(pod)
    if ((isOld && mayGo) || ['Failed', 'Succeeded'].includes(pod.status?.phase)) deletePod(context, pod)
  }
  return null
}

function writeStatus({ api }: Context, set: KubeObject, pods: KubeObject[], updateRevision: string): void {
  const alive = pods.filter(({ metadata }) => !metadata.deletionTimestamp)
  const count = (is: (pod: KubeObject) => boolean) => alive.filter(is).length
  // no availableReplicas: older versions don't count that
  api.setStatus(STATEFUL_SET, set, {
    observedGeneration: set.metadata.generation,
    replicas: alive.length,
    readyReplicas: count(isReady),
    updatedReplicas: count(({ metadata }) => metadata.labels?.[REVISION] === updateRevision),
    updateRevision,
  })
}
