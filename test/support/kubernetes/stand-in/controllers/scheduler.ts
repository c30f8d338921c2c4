/** The scheduler: picks a node for each pod by selector and requests, once the pod's volumes exist. */
import { type Context, keyOf, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { type Json, type KubeObject, timestamp, withCondition } from '../objects.ts'
import { nano } from '../quantity.ts'
import type { Store } from '../store.ts'
import { POD } from './pods.ts'

const NODE = kindNamed('Node')
const CLAIM = kindNamed('PersistentVolumeClaim')
const CLASS = kindNamed('StorageClass')
const BY = { manager: 'kube-scheduler' }
/** annotation of a claim: the node that the scheduler chose for its pod */
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'

type Amounts = Record<'cpu' | 'memory' | 'pods', bigint>

export function startScheduler(context: Context): void {
  const { store } = context
  const waiting = new Set<string>()
  const usage = new Usage()
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const pod = store.get(POD, namespace, name)
    if (!pod || pod.spec.nodeName || pod.metadata.deletionTimestamp) waiting.delete(key)
    else if (schedule(context, pod, usage)) waiting.delete(key)
    else waiting.add(key)
  })
  store.onChange(({ kind, type, object }) => {
    if (kind === POD) {
      const key = keyOf(object)
      const ended = type === 'DELETED' || ['Succeeded', 'Failed'].includes(object.status?.phase)
      if (ended) usage.remove(key)
      else if (object.spec.nodeName) usage.add(key, object)
      if (type === 'ADDED') queue.add(key)
      if (!ended) return
    } else if (kind !== NODE && kind !== CLAIM) return
    // a pod was removed or a volume was created
    for (const key of waiting) queue.add(key)
  })
}

/** Sums of the requests of each node's pods. */
class Usage {
  readonly #pods = new Map<string, { node: string; amounts: Amounts }>()
  readonly #totals = new Map<string, Amounts>()

  requestedOn(node: string): Amounts {
    return this.#totals.get(node) ?? { cpu: 0n, memory: 0n, pods: 0n }
  }

  add(key: string, { spec }: KubeObject): void {
    if (this.#pods.has(key)) return
    const entry = { node: spec.nodeName as string, amounts: requested(spec) }
    this.#pods.set(key, entry)
    this.#count(entry, 1n)
  }

  remove(key: string): void {
    const entry = this.#pods.get(key)
    if (entry) this.#count(entry, -1n)
    this.#pods.delete(key)
  }

  #count({ node, amounts }: { node: string; amounts: Amounts }, sign: bigint): void {
    const { cpu, memory, pods } = this.requestedOn(node)
    const total = {
      cpu: cpu + sign * amounts.cpu,
      memory: memory + sign * amounts.memory,
      pods: pods + sign * amounts.pods,
    }
    this.#totals.set(node, total)
  }
}

function requested(spec: Json): Amounts {
  const totalOf = (name: string): bigint => {
    const amount = (c: Json): bigint => nano(c.resources?.requests?.[name])
    const together = spec.containers.reduce((sum: bigint, c: Json) => sum + amount(c), 0n)
    return (spec.initContainers ?? []).reduce(
      (most: bigint, c: Json) => (amount(c) > most ? amount(c) : most),
      together,
    )
  }
  return { cpu: totalOf('cpu'), memory: totalOf('memory'), pods: nano('1') }
}

/** The reason why a node refuses a pod; null: it fits. */
function unfit(node: KubeObject, pod: KubeObject, taken: Amounts): string | null {
  const selector: Record<string, string> = pod.spec.nodeSelector ?? {}
  if (Object.entries(selector).some(([name, value]) => node.metadata.labels?.[name] !== value)) {
    return `node(s) didn't match Pod's node affinity/selector`
  }
  const requests = requested(pod.spec)
  for (const name of ['cpu', 'memory', 'pods'] as const) {
    const room = nano(node.status?.allocatable?.[name])
    if (taken[name] + requests[name] > room) return name === 'pods' ? 'Too many pods' : `Insufficient ${name}`
  }
  return null
}

/** The problem with a pod's volumes; null: none. */
function volumesOf({ store }: Context, pod: KubeObject): string | null {
  for (const { name, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral ? `${pod.metadata.name}-${name}` : null)
    if (!claimName) continue
    const claim = store.get(CLAIM, pod.metadata.namespace, claimName)
    if (!claim) return `persistentvolumeclaim "${claimName}" not found`
    if (claim.metadata.deletionTimestamp) return `persistentvolumeclaim "${claimName}" is being deleted`
    if (claim.status?.phase === 'Bound' || isLateBound(store, claim)) continue
    return 'pod has unbound immediate PersistentVolumeClaims'
  }
  return null
}

const isLateBound = (store: Store, { spec }: KubeObject): boolean =>
  store.get(CLASS, undefined, spec.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer'

/** Gives a node to claims that wait for their first pod. True: one of them has no volume yet. */
function awaitsVolumes({ store, api }: Context, pod: KubeObject, node: string): boolean {
  const claims = (pod.spec.volumes ?? []).flatMap((volume: Json) => {
    const name = volume.persistentVolumeClaim?.claimName
    return name ? (store.get(CLAIM, pod.metadata.namespace, name) ?? []) : []
  })
  const open = claims.filter((claim: KubeObject) => claim.status?.phase !== 'Bound')
  for (const claim of open) {
    const select = ({ metadata }: KubeObject) => {
      metadata.annotations = { ...metadata.annotations, [SELECTED_NODE]: node }
    }
    api.modify(CLAIM, claim, select, BY)
  }
  return open.length > 0
}

/** True: the pod has its node. */
function schedule(context: Context, pod: KubeObject, usage: Usage): boolean {
  const { store, api, event } = context
  const nodes = store.list(NODE).filter(({ spec }) => !spec?.unschedulable)
  const volumes = volumesOf(context, pod)
  const verdicts = nodes.map((node) => ({ node, why: unfit(node, pod, usage.requestedOn(node.metadata.name)) }))
  const node = volumes ? undefined : verdicts.find(({ why }) => why === null)?.node
  if (node && awaitsVolumes(context, pod, node.metadata.name)) return false
  if (node) {
    const bind = (copy: KubeObject) => {
      copy.spec.nodeName = node.metadata.name
    }
    api.modify(POD, pod, bind, BY)
    const scheduled = (copy: KubeObject) => {
      const condition = { type: 'PodScheduled', status: 'True', lastProbeTime: null }
      const others = (copy.status?.conditions ?? []).filter((c: Json) => c.type !== 'PodScheduled')
      const before = copy.status?.conditions?.find((c: Json) => c.type === 'PodScheduled')
      const lastTransitionTime = before?.status === 'True' ? before.lastTransitionTime : timestamp()
      copy.status = { ...copy.status, conditions: [...others, { ...condition, lastTransitionTime }] }
    }
    api.modify(POD, pod, scheduled, { ...BY, subresource: 'status' })
    const message = `Successfully assigned ${keyOf(pod)} to ${node.metadata.name}`
    event(pod, 'Normal', 'Scheduled', message, 'default-scheduler')
    return true
  }
  const message = `0/${nodes.length} nodes are available: ${volumes ?? reasons(verdicts.map(({ why }) => why!))}.`
  const waits = (copy: KubeObject) => {
    const condition = { type: 'PodScheduled', status: 'False', lastProbeTime: null, reason: 'Unschedulable', message }
    copy.status = { ...copy.status, phase: 'Pending', conditions: withCondition(copy.status?.conditions, condition) }
  }
  api.modify(POD, pod, waits, { ...BY, subresource: 'status' })
  event(pod, 'Warning', 'FailedScheduling', message, 'default-scheduler')
  return false
}

/** Formats `1 Insufficient cpu, 2 Too many pods`, with the preemption part since 1.24. */
function reasons(all: string[]): string {
  const counts = new Map<string, number>()
  for (const why of all) counts.set(why, (counts.get(why) ?? 0) + 1)
  return [...counts]
    .map(([why, n]) => `${n} ${why}`)
    .sort()
    .join(', ')
}
