/**
 * Volumes and the scheduler: provisions a volume for each claim, keeps a claim while a pod uses it, and gives a pod
 * its node when the pod fits and its volumes exist.
 */
import { type Context, keyOf, reconciling } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { type Json, type KubeObject, withCondition } from '../objects.ts'
import { nano } from '../quantity.ts'
import { POD } from './pods.ts'

const CLAIM = kindNamed('PersistentVolumeClaim')
/** of the only node. A pod must fit into it alone. */
const CAPACITY = { cpu: '4000', memory: '16Ti' }

const claimsOf = ({ spec }: KubeObject): string[] =>
  (spec.volumes ?? []).flatMap((volume: Json) => volume.persistentVolumeClaim?.claimName ?? [])

export function startVolumes(context: Context): void {
  const { store, api, delays } = context
  const queue = reconciling(context, CLAIM, (claim) => {
    const { namespace, name, deletionTimestamp } = claim.metadata
    const isUsed = store.all(POD, namespace).some((pod) => claimsOf(pod).includes(name))
    if (deletionTimestamp && !isUsed)
      api.modify(CLAIM, claim, ({ metadata }) => {
        metadata.finalizers = []
      })
    if (!claim.status) context.after(delays.provision, () => api.setStatus(CLAIM, claim, { phase: 'Bound' }))
  })
  store.onChange(({ kind, type, object }) => {
    if (kind === POD && type === 'DELETED')
      for (const name of claimsOf(object)) queue.add(`${object.metadata.namespace}/${name}`)
  })
}

export function startScheduler(context: Context): void {
  const { store } = context
  const queue = reconciling(context, POD, (pod) => {
    if (!pod.spec.nodeName && !pod.metadata.deletionTimestamp) schedule(context, pod)
  })
  store.onChange(({ kind, object }) => {
    if (kind !== CLAIM) return
    for (const pod of store.all(POD, object.metadata.namespace))
      if (claimsOf(pod).includes(object.metadata.name)) queue.add(keyOf(pod))
  })
}

function schedule({ store, api, warn }: Context, pod: KubeObject): void {
  const why = [
    ...unfit(pod),
    ...claimsOf(pod).flatMap((name) => missing(store.get(CLAIM, pod.metadata.namespace, name), name)),
  ]
  if (why.length === 0)
    api.modify(POD, pod, ({ spec }) => {
      spec.nodeName = 'node-1'
    })
  const message = `0/1 nodes are available: ${why.join(', ')}.`
  const scheduled = why.length === 0 ? { status: 'True' } : { status: 'False', reason: 'Unschedulable', message }
  const conditions = withCondition(pod.status?.conditions, { type: 'PodScheduled', ...scheduled })
  api.setStatus(POD, pod, { ...pod.status, phase: 'Pending', conditions })
  if (why.length > 0) warn(pod, 'FailedScheduling', message)
}

function missing(claim: KubeObject | undefined, name: string): string[] {
  if (!claim) return [`persistentvolumeclaim "${name}" not found`]
  if (claim.metadata.deletionTimestamp) return [`persistentvolumeclaim "${name}" is being deleted`]
  return claim.status?.phase === 'Bound' ? [] : ['pod has unbound immediate PersistentVolumeClaims']
}

/** Resources of which the pod requests more than the node has. */
const unfit = ({ spec }: KubeObject): string[] =>
  Object.entries(CAPACITY)
    .filter(([name, room]) => spec.containers.some((c: Json) => nano(c.resources?.requests?.[name]) > nano(room)))
    .map(([name]) => `1 Insufficient ${name}`)
