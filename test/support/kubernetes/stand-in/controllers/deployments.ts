/** The Deployment controller: makes a ReplicaSet per template and moves pods from old sets to the newest. */
import { type Context, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { clone, controllerOf, equal, type Json, type KubeObject, ownerReference } from '../objects.ts'
import { writeDeploymentStatus } from './deployment-status.ts'
import { CONTROLLER, hashOf, POD } from './pods.ts'
import { REPLICA_SET } from './replicasets.ts'

export const DEPLOYMENT = kindNamed('Deployment')
const REVISION = 'deployment.kubernetes.io/revision'
const HASH = 'pod-template-hash'

export function startDeployments(context: Context): void {
  const { store } = context
  const setsOf = new Map<string, Set<string>>()
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const deployment = store.get(DEPLOYMENT, namespace, name)
    if (!deployment) return
    const sets = () =>
      [...(setsOf.get(deployment.metadata.uid) ?? [])].flatMap((n) => store.get(REPLICA_SET, namespace, n) ?? [])
    if (!deployment.metadata.deletionTimestamp) reconcile(context, deployment, sets())
    const isCurrent = (template: Json) => sameTemplate(template, deployment.spec.template)
    const wait = writeDeploymentStatus(context, deployment, sets(), isCurrent)
    if (wait !== null) queue.add(key, wait)
  })
  store.onChange(({ kind, type, object }) => {
    const { namespace, name } = object.metadata
    if (kind === DEPLOYMENT && type !== 'DELETED') queue.add(`${namespace}/${name}`)
    if (kind === POD && type === 'DELETED') {
      // Recreate waits for the last pod of the old set
      const set = controllerOf(object)
      const owner = set && store.get(REPLICA_SET, namespace, set.name)
      const deployment = owner && controllerOf(owner)
      if (deployment) queue.add(`${namespace}/${deployment.name}`)
    }
    const owner = kind === REPLICA_SET ? controllerOf(object) : undefined
    if (owner?.kind !== 'Deployment') return
    const names = setsOf.get(owner.uid) ?? new Set()
    setsOf.set(owner.uid, names)
    if (type === 'DELETED') names.delete(name)
    else names.add(name)
    queue.add(`${namespace}/${owner.name}`)
  })
}

/** True: the templates are equal, ignoring the label that the controller adds. */
function sameTemplate(a: Json, b: Json): boolean {
  const strip = (template: Json) => {
    const { [HASH]: _hash, ...labels } = template.metadata?.labels ?? {}
    return { ...template, metadata: { ...template.metadata, labels } }
  }
  return equal(strip(a), strip(b))
}

const revisionOf = (object: KubeObject): number => Number(object.metadata.annotations?.[REVISION] ?? 0)

/** A number, or a percentage of the replicas like `25%`. */
function share(value: unknown, replicas: number, round: (n: number) => number): number {
  const text = String(value ?? 0)
  return text.endsWith('%') ? round((replicas * Number(text.slice(0, -1))) / 100) : Number(text)
}

/** Surplus and missing pods that a rollout allows. */
export function fenceposts({ spec }: KubeObject): { surge: number; unavailable: number } {
  if (spec.strategy.type !== 'RollingUpdate') return { surge: 0, unavailable: spec.replicas }
  const { maxSurge, maxUnavailable } = spec.strategy.rollingUpdate ?? {}
  const surge = share(maxSurge, spec.replicas, Math.ceil)
  const unavailable = Math.min(share(maxUnavailable, spec.replicas, Math.floor), spec.replicas)
  return { surge, unavailable: surge === 0 && unavailable === 0 ? 1 : unavailable }
}

function reconcile(context: Context, deployment: KubeObject, sets: KubeObject[]): void {
  const found = sets.find((set) => sameTemplate(set.spec.template, deployment.spec.template))
  const old = sets.filter((set) => set !== found)
  if (deployment.spec.paused) {
    if (found && old.every((set) => set.spec.replicas === 0))
      scale(context, deployment, found, deployment.spec.replicas)
    return
  }
  const recreate = deployment.spec.strategy.type === 'Recreate'
  if (recreate && retire(context, deployment, old)) return
  const current = found ? revised(context, found, old) : createSet(context, deployment, old)
  if (!current) return
  if (revisionOf(deployment) !== revisionOf(current)) {
    const change = ({ metadata }: KubeObject) => {
      metadata.annotations = { ...metadata.annotations, [REVISION]: String(revisionOf(current)) }
    }
    context.api.modify(DEPLOYMENT, deployment, change, CONTROLLER)
  }
  if (recreate) scale(context, deployment, current, deployment.spec.replicas)
  else roll(context, deployment, current, old)
  forgetHistory(context, deployment, old)
}

/** Recreate: removes the old pods first. True: some are left. */
function retire(context: Context, deployment: KubeObject, old: KubeObject[]): boolean {
  for (const set of old) scale(context, deployment, set, 0)
  const uids = new Set(old.map((set) => set.metadata.uid))
  return context.store
    .all(POD, deployment.metadata.namespace)
    .some((pod) => uids.has(controllerOf(pod)?.uid ?? '') && !['Succeeded', 'Failed'].includes(pod.status?.phase))
}

/** Gives the desired template's set the highest revision, even if it is an old set that returns. */
function revised({ api, store }: Context, set: KubeObject, old: KubeObject[]): KubeObject {
  const highest = Math.max(0, ...old.map(revisionOf))
  if (revisionOf(set) > highest) return set
  const change = ({ metadata }: KubeObject) => {
    metadata.annotations = { ...metadata.annotations, [REVISION]: String(highest + 1) }
  }
  api.modify(REPLICA_SET, set, change, CONTROLLER)
  return store.get(REPLICA_SET, set.metadata.namespace, set.metadata.name)!
}

function createSet({ api }: Context, deployment: KubeObject, old: KubeObject[]): KubeObject {
  const { name, namespace } = deployment.metadata
  const { template, selector, minReadySeconds, replicas } = deployment.spec
  const hash = hashOf(template)
  const labels = { ...template.metadata?.labels, [HASH]: hash }
  const { surge } = fenceposts(deployment)
  const there = old.reduce((sum, set) => sum + set.spec.replicas, 0)
  const first =
    deployment.spec.strategy.type === 'Recreate' ? replicas : Math.min(replicas, Math.max(0, replicas + surge - there))
  return api.create(
    REPLICA_SET,
    namespace,
    {
      metadata: {
        name: `${name}-${hash}`,
        labels,
        annotations: {
          'deployment.kubernetes.io/desired-replicas': String(replicas),
          [REVISION]: String(Math.max(0, ...old.map(revisionOf)) + 1),
        },
        ownerReferences: [ownerReference(deployment)],
      },
      spec: {
        replicas: first,
        ...(minReadySeconds ? { minReadySeconds } : {}),
        selector: { ...clone(selector), matchLabels: { ...selector.matchLabels, [HASH]: hash } },
        template: { ...clone(template), metadata: { ...clone(template.metadata), labels } },
      },
    },
    CONTROLLER,
  )
}

/** One step of a rolling update: adds new pods within the surge, removes old ones while enough pods are available. */
function roll(context: Context, deployment: KubeObject, current: KubeObject, old: KubeObject[]): void {
  const desired: number = deployment.spec.replicas
  const { surge, unavailable } = fenceposts(deployment)
  const sum = (sets: KubeObject[], countOf: (set: KubeObject) => number) => sets.reduce((n, set) => n + countOf(set), 0)
  const replicas = (set: KubeObject): number => set.spec.replicas
  const available = (set: KubeObject): number => set.status?.availableReplicas ?? 0

  const total = sum([current, ...old], replicas)
  const grown =
    current.spec.replicas > desired
      ? desired
      : current.spec.replicas + Math.min(desired - current.spec.replicas, Math.max(0, desired + surge - total))
  if (grown !== current.spec.replicas) {
    scale(context, deployment, current, grown)
    return
  }
  if (sum(old, replicas) === 0) return
  const minAvailable = desired - unavailable
  const newUnavailable = current.spec.replicas - available(current)
  let room = total - minAvailable - newUnavailable
  if (room <= 0) return
  // unready pods are removed first
  const next = new Map(old.map((set) => [set, replicas(set)]))
  for (const set of old) {
    const broken = Math.min(room, replicas(set) - available(set))
    next.set(set, replicas(set) - broken)
    room -= broken
  }
  let spare = sum([current, ...old], available) - minAvailable
  for (const set of [...old].sort((a, b) => revisionOf(a) - revisionOf(b))) {
    const less = Math.max(0, Math.min(spare, next.get(set)!))
    next.set(set, next.get(set)! - less)
    spare -= less
  }
  for (const [set, n] of next) scale(context, deployment, set, n)
}

function scale({ api, event }: Context, deployment: KubeObject, set: KubeObject, replicas: number): void {
  if (set.spec.replicas === replicas) return
  const direction = set.spec.replicas < replicas ? 'up' : 'down'
  const change = (copy: KubeObject) => {
    copy.spec.replicas = replicas
  }
  api.modify(REPLICA_SET, set, change, CONTROLLER)
  const message = `Scaled ${direction} replica set ${set.metadata.name} from ${set.spec.replicas} to ${replicas}`
  event(deployment, 'Normal', 'ScalingReplicaSet', message, 'deployment-controller')
}

function forgetHistory({ api }: Context, deployment: KubeObject, old: KubeObject[]): void {
  const done = old
    .filter((set) => set.spec.replicas === 0 && (set.status?.replicas ?? 0) === 0 && !set.metadata.deletionTimestamp)
    .sort((a, b) => revisionOf(a) - revisionOf(b))
  for (const set of done.slice(0, Math.max(0, done.length - deployment.spec.revisionHistoryLimit))) {
    api.delete(REPLICA_SET, set.metadata.namespace, set.metadata.name)
  }
}
