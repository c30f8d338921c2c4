/**
 * The EndpointSlice controller: one slice for each Service with a selector, even without matching pods. A slice has
 * the labels of its Service.
 */
import { type Context, keyOf, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { equal, type Json, type KubeObject, ownerReference, randomSuffix } from '../objects.ts'
import { CONTROLLER, isReady, POD } from './pods.ts'

const SERVICE = kindNamed('Service')
const SLICE = kindNamed('EndpointSlice')
const OF_SERVICE = 'kubernetes.io/service-name'

/** The controller can be paused. It processes the missed changes when it continues. */
export interface EndpointController {
  hold(held: boolean): void
}

export function startEndpoints(context: Context): EndpointController {
  const { store } = context
  let held = false
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const service = store.get(SERVICE, namespace, name)
    if (service && !held) reconcile(context, service)
  })
  store.onChange(({ kind, type, object, before }) => {
    if (kind === SERVICE && type !== 'DELETED') queue.add(keyOf(object))
    const owner = kind === SLICE && object.metadata.labels?.[OF_SERVICE]
    if (owner) queue.add(`${object.metadata.namespace}/${owner}`)
    if (kind !== POD) return
    for (const service of store.all(SERVICE, object.metadata.namespace))
      if (selects(service, object) || (before && selects(service, before))) queue.add(keyOf(service))
  })
  return {
    hold(paused) {
      held = paused
      for (const service of store.all(SERVICE)) queue.add(keyOf(service))
    },
  }
}

function selects({ spec }: KubeObject, { metadata }: KubeObject): boolean {
  return Object.entries(spec.selector ?? {}).every(([name, value]) => metadata.labels?.[name] === value)
}

function reconcile({ store, api }: Context, service: KubeObject): void {
  const { namespace, name, labels } = service.metadata
  if (!service.spec.selector) return
  const pods = store.all(POD, namespace).filter((pod) => selects(service, pod) && pod.status?.podIP)
  const content: Json = {
    addressType: 'IPv4',
    endpoints: pods.map((pod) => endpointOf(pod)),
    ports: service.spec.ports.map(({ name, port, protocol }: Json) => ({ name: name ?? '', port, protocol })),
  }
  const marks = { ...labels, [OF_SERVICE]: name, 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller' }
  const slice = store.all(SLICE, namespace).find(({ metadata }) => metadata.labels?.[OF_SERVICE] === name)
  if (slice?.metadata.deletionTimestamp) return
  if (!slice) {
    const metadata = { name: `${name}-${randomSuffix()}`, labels: marks, ownerReferences: [ownerReference(service)] }
    api.create(SLICE, namespace, { metadata, ...content }, CONTROLLER)
  } else if (!equal(slice.endpoints, content.endpoints) || !equal(slice.metadata.labels, marks)) {
    const change = (copy: KubeObject) => {
      Object.assign(copy, content)
      copy.metadata.labels = marks
    }
    api.modify(SLICE, slice, change, CONTROLLER)
  }
}

function endpointOf(pod: KubeObject): Json {
  const terminating = pod.metadata.deletionTimestamp !== undefined
  const serving = isReady(pod)
  return {
    addresses: [pod.status.podIP],
    conditions: { ready: serving && !terminating, serving, terminating },
    targetRef: { kind: 'Pod', namespace: pod.metadata.namespace, name: pod.metadata.name, uid: pod.metadata.uid },
  }
}
