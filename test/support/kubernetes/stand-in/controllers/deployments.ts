/** The Deployment controller: makes a ReplicaSet per template and moves pods from old sets to the newest. */
import { type Context, reconciling } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { clone, controllerOf, equal, type Json, type KubeObject, ownerReference } from '../objects.ts'
import { hashOf } from './pods.ts'
import { REPLICA_SET } from './replicasets.ts'

const DEPLOYMENT = kindNamed('Deployment')
const HASH = 'pod-template-hash'

export function startDeployments(context: Context): void {
  const { store } = context
  /** names of ReplicaSets, by the uid of their Deployment, oldest first */
  const names = new Map<string, Set<string>>()
  const queue = reconciling(context, DEPLOYMENT, (deployment) => {
    const { metadata, spec } = deployment
    const sets = () =>
      [...(names.get(metadata.uid) ?? [])].flatMap((name) => store.get(REPLICA_SET, metadata.namespace, name) ?? [])
    if (!metadata.deletionTimestamp && !spec.paused) reconcile(context, deployment, sets())
    writeStatus(context, deployment, sets())
  })
  store.onChange(({ kind, type, object }) => {
    const owner = controllerOf(object)
    if (kind !== REPLICA_SET || !owner) return
    const own = names.get(owner.uid) ?? new Set()
    names.set(owner.uid, own)
    if (type === 'DELETED') own.delete(object.metadata.name)
    else own.add(object.metadata.name)
    queue.add(`${object.metadata.namespace}/${owner.name}`)
  })
}

/** True: the set has the Deployment's template, ignoring the label that the controller adds. */
function isCurrent({ spec }: KubeObject, deployment: KubeObject): boolean {
  const { metadata, ...template } = spec.template
  const { [HASH]: _, ...labels } = metadata.labels
  return equal({ ...template, metadata: { ...metadata, labels } }, deployment.spec.template)
}

/** A number, or a percentage of the replicas like `25%`. */
function share(value: unknown, replicas: number, round: (n: number) => number): number {
  const text = String(value ?? 0)
  return text.endsWith('%') ? round((replicas * Number(text.slice(0, -1))) / 100) : Number(text)
}

/**
 * One step of a rolling update: adds new pods within the surge, and removes old ones while enough pods are available,
 * unready ones first.
 */
function reconcile(context: Context, deployment: KubeObject, sets: KubeObject[]): void {
  const current = sets.find((set) => isCurrent(set, deployment))
  if (!current) {
    createSet(context, deployment)
    return
  }
  const old = sets.filter((set) => set !== current)
  const { replicas: desired, strategy } = deployment.spec
  const surge = share(strategy.rollingUpdate?.maxSurge, desired, Math.ceil)
  const unavailable = share(strategy.rollingUpdate?.maxUnavailable ?? desired, desired, Math.floor)
  const replicasOf = ({ spec }: KubeObject): number => spec.replicas
  const availableOf = ({ status }: KubeObject): number => status?.availableReplicas ?? 0
  const sum = (list: KubeObject[], countOf: (set: KubeObject) => number) => list.reduce((n, set) => n + countOf(set), 0)

  const room = Math.max(0, desired + surge - sum(sets, replicasOf))
  const grown = Math.min(desired, replicasOf(current) + room)
  if (grown !== replicasOf(current)) {
    scale(context, current, grown)
    return
  }
  const needed = desired - unavailable
  let removable = sum(sets, replicasOf) - needed - (replicasOf(current) - availableOf(current))
  let spare = sum(sets, availableOf) - needed
  for (const set of old) {
    const broken = Math.max(0, Math.min(removable, replicasOf(set) - availableOf(set)))
    const serving = Math.max(0, Math.min(spare, replicasOf(set) - broken))
    removable -= broken
    spare -= serving
    scale(context, set, replicasOf(set) - broken - serving)
  }
}

function createSet({ api }: Context, deployment: KubeObject): void {
  const { name, namespace } = deployment.metadata
  const { template, selector, minReadySeconds } = deployment.spec
  const hash = hashOf(template)
  const labels = { ...template.metadata?.labels, [HASH]: hash }
  api.create(REPLICA_SET, namespace, {
    metadata: { name: `${name}-${hash}`, labels, ownerReferences: [ownerReference(deployment)] },
    spec: {
      replicas: 0,
      minReadySeconds,
      selector: { matchLabels: { ...selector.matchLabels, [HASH]: hash } },
      template: { ...clone(template), metadata: { ...clone(template.metadata), labels } },
    },
  })
}

function scale({ api }: Context, set: KubeObject, replicas: number): void {
  if (set.spec.replicas === replicas) return
  api.modify(REPLICA_SET, set, ({ spec }) => {
    spec.replicas = replicas
  })
}

function writeStatus({ api, store }: Context, { metadata }: KubeObject, sets: KubeObject[]): void {
  const deployment = store.get(DEPLOYMENT, metadata.namespace, metadata.name)!
  const current = sets.find((set) => isCurrent(set, deployment))
  const sum = (name: string): number => sets.reduce((n, { status }) => n + (status?.[name] ?? 0), 0)
  const counts: Json = {
    replicas: sum('replicas'),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: sum('availableReplicas'),
  }
  api.setStatus(DEPLOYMENT, deployment, {
    observedGeneration: deployment.metadata.generation,
    ...Object.fromEntries(Object.entries(counts).filter(([, n]) => n !== 0)),
    // ReplicaFailure
    conditions: (current ? [current, ...sets] : sets).flatMap(({ status }) => status?.conditions ?? []).slice(0, 1),
  })
}
