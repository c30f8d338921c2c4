/**
 * The EndpointSlice controller: one slice for each Service with a selector, even without matching pods. A slice has
 * the labels of its Service.
 */
import { type Context, keyOf, reconciling } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import { equal, type KubeObject, ownerReference, randomSuffix } from '../objects.ts'
import { isReady, POD } from './pods.ts'

const SERVICE = kindNamed('Service')
const SLICE = kindNamed('EndpointSlice')
const OF_SERVICE = 'kubernetes.io/service-name'

/** Returns a function that pauses or resumes the controller. It then processes the missed changes. */
export function startEndpoints(context: Context): (held: boolean) => void {
  const { store } = context
  let paused = false
  const queue = reconciling(context, SERVICE, (service) => {
    if (!paused) reconcile(context, service)
  })
  store.onChange(({ kind, object, before }) => {
    const owner = kind === SLICE && object.metadata.labels?.[OF_SERVICE]
    if (owner) queue.add(`${object.metadata.namespace}/${owner}`)
    if (kind !== POD) return
    for (const service of store.all(SERVICE, object.metadata.namespace))
      if (selects(service, object) || (before && selects(service, before))) queue.add(keyOf(service))
  })
  return (held) => {
    paused = held
    for (const service of store.all(SERVICE)) queue.add(keyOf(service))
  }
}

function selects({ spec }: KubeObject, { metadata }: KubeObject): boolean {
  return Object.entries(spec.selector ?? {}).every(([name, value]) => metadata.labels?.[name] === value)
}

function reconcile({ store, api }: Context, service: KubeObject): void {
  const { namespace, name } = service.metadata
  const labels = { ...service.metadata.labels, [OF_SERVICE]: name }
  const pods = store.all(POD, namespace).filter((pod) => selects(service, pod) && pod.status?.podIP)
  const content = { addressType: 'IPv4', endpoints: pods.map(endpointOf), ports: service.spec.ports }
  const slice = store.all(SLICE, namespace).find(({ metadata }) => metadata.labels?.[OF_SERVICE] === name)
  if (!slice) {
    const metadata = { name: `${name}-${randomSuffix()}`, labels, ownerReferences: [ownerReference(service)] }
    api.create(SLICE, namespace, { metadata, ...content })
  } else if (!equal(slice.endpoints ?? [], content.endpoints) || !equal(slice.metadata.labels, labels)) {
    api.modify(SLICE, slice, (copy) => {
      Object.assign(copy, content)
      copy.metadata.labels = labels
    })
  }
}

function endpointOf(pod: KubeObject) {
  const { namespace, name, uid, deletionTimestamp } = pod.metadata
  return {
    addresses: [pod.status.podIP],
    conditions: { ready: isReady(pod) && !deletionTimestamp },
    targetRef: { kind: 'Pod', namespace, name, uid },
  }
}
