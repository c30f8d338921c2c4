/**
 * The StatefulSet controller: numbered pods with their own volumes, one after the other. As in a real cluster, a pod
 * that never gets ready blocks its own replacement.
 */
import { type Context, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { clone, equal, type Json, type KubeObject } from '../objects.ts'
import { availableIn, CONTROLLER, createPod, hashOf, isReady, OwnedPods, POD } from './pods.ts'

const STATEFUL_SET = kindNamed('StatefulSet')
const CLAIM = kindNamed('PersistentVolumeClaim')
const REVISION = 'controller-revision-hash'
const COMPONENT = 'statefulset-controller'

export function startStatefulSets(context: Context): void {
  const { store } = context
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const set = store.get(STATEFUL_SET, namespace, name)
    if (!set) return
    const revision = `${name}-${hashOf(set.spec.template)}`
    if (!set.metadata.deletionTimestamp) {
      if (reconcile(context, set, pods.ownedBy(set), revision) === null) queue.succeeded(key)
      else queue.retry(key)
    }
    writeStatus(context, set, pods.ownedBy(set), revision)
  })
  const pods = new OwnedPods(context, STATEFUL_SET, (key) => queue.add(key))
  store.onChange(({ kind, type, object }) => {
    if (kind === STATEFUL_SET && type !== 'DELETED') queue.add(`${object.metadata.namespace}/${object.metadata.name}`)
  })
}

const ordinal = (pod: KubeObject): number => Number(pod.metadata.name.split('-').at(-1))

/** One step. Returns the message of a refusal, or null. */
function reconcile(context: Context, set: KubeObject, pods: KubeObject[], revision: string): string | null {
  const { api, event } = context
  const { namespace, name } = set.metadata
  const { replicas, podManagementPolicy, updateStrategy } = set.spec
  const inOrder = podManagementPolicy === 'OrderedReady'
  const remove = (pod: KubeObject): void => {
    if (pod.metadata.deletionTimestamp) return
    api.delete(POD, namespace, pod.metadata.name)
    const message = `delete Pod ${pod.metadata.name} in StatefulSet ${name} successful`
    event(set, 'Normal', 'SuccessfulDelete', message, COMPONENT)
  }
  const healthy = (pod: KubeObject): boolean => isReady(pod) && !pod.metadata.deletionTimestamp
  for (let n = 0; n < replicas; n++) {
    const pod = pods.find((p) => ordinal(p) === n)
    if (pod && ['Failed', 'Succeeded'].includes(pod.status?.phase)) remove(pod)
    if (!pod) {
      const refusal = createNumbered(context, set, n, revision)
      if (refusal) return refusal
      if (inOrder) return null
    } else if (inOrder && !healthy(pod)) return null
  }
  const surplus = pods.filter((pod) => ordinal(pod) >= replicas).sort((a, b) => ordinal(b) - ordinal(a))
  for (const pod of surplus) {
    remove(pod)
    if (inOrder) return null
  }
  if (updateStrategy.type === 'OnDelete' || surplus.length > 0) return null
  const partition: number = updateStrategy.rollingUpdate?.partition ?? 0
  for (const pod of pods.filter((p) => ordinal(p) >= partition).sort((a, b) => ordinal(b) - ordinal(a))) {
    if (pod.metadata.labels?.[REVISION] !== revision && !pod.metadata.deletionTimestamp) {
      remove(pod)
      return null
    }
    if (!healthy(pod)) return null
  }
  return null
}

function createNumbered(context: Context, set: KubeObject, n: number, revision: string): string | null {
  const { store, api } = context
  const { namespace, name } = set.metadata
  const podName = `${name}-${n}`
  const templates: Json[] = set.spec.volumeClaimTemplates ?? []
  for (const { metadata, spec } of templates) {
    const claim = `${metadata.name}-${podName}`
    if (store.get(CLAIM, namespace, claim)) continue
    const labels = { ...metadata.labels, ...set.spec.selector.matchLabels }
    const body = { metadata: { name: claim, labels, annotations: metadata.annotations }, spec: clone(spec) }
    api.create(CLAIM, namespace, body, CONTROLLER)
  }
  return createPod(context, set, set.spec.template, COMPONENT, (pod) => {
    pod.metadata.name = podName
    pod.metadata.labels = {
      ...pod.metadata.labels,
      [REVISION]: revision,
      'statefulset.kubernetes.io/pod-name': podName,
      'apps.kubernetes.io/pod-index': String(n),
    }
    pod.spec.hostname = podName
    pod.spec.subdomain = set.spec.serviceName
    const mine = templates.map(({ metadata }) => ({
      name: metadata.name,
      persistentVolumeClaim: { claimName: `${metadata.name}-${podName}` },
    }))
    const names = new Set(mine.map((volume) => volume.name))
    pod.spec.volumes = [...(pod.spec.volumes ?? []).filter((v: Json) => !names.has(v.name)), ...mine]
  })
}

function writeStatus({ api }: Context, set: KubeObject, pods: KubeObject[], updateRevision: string): void {
  const alive = pods.filter(({ metadata }) => !metadata.deletionTimestamp)
  const ready = alive.filter(isReady)
  const updated = alive.filter(({ metadata }) => metadata.labels?.[REVISION] === updateRevision)
  const done =
    updated.length === set.spec.replicas && ready.length === set.spec.replicas && pods.length === set.spec.replicas
  const currentRevision = done ? updateRevision : (set.status?.currentRevision ?? updateRevision)
  const current = alive.filter(({ metadata }) => metadata.labels?.[REVISION] === currentRevision).length
  const status = {
    observedGeneration: set.metadata.generation,
    replicas: alive.length,
    ...(ready.length > 0 ? { readyReplicas: ready.length } : {}),
    ...(current > 0 ? { currentReplicas: current } : {}),
    ...(updated.length > 0 ? { updatedReplicas: updated.length } : {}),
    currentRevision,
    updateRevision,
    collisionCount: 0,
    // older versions don't count that
    ...(api.minor < 22 ? {} : { availableReplicas: availableOf(set, ready) }),
  }
  if (equal(status, set.status)) return
  const change = (copy: KubeObject) => {
    copy.status = status
  }
  api.modify(STATEFUL_SET, set, change, { ...CONTROLLER, subresource: 'status' })
}

const availableOf = (set: KubeObject, ready: KubeObject[]): number =>
  ready.filter((pod) => availableIn(pod, set.spec.minReadySeconds) === 0).length
