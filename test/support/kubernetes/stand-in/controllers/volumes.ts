/** Claims of volumes: provisioned when their class is there, and kept while a pod uses them. */
import { type Context, keyOf, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import type { Json, KubeObject } from '../objects.ts'
import { CONTROLLER, POD } from './pods.ts'

const CLAIM = kindNamed('PersistentVolumeClaim')
const CLASS = kindNamed('StorageClass')
const PROTECTION = 'kubernetes.io/pvc-protection'

export function startVolumes(context: Context): void {
  const { store } = context
  const queue = new WorkQueue(context, (key) => {
    const { namespace, name } = splitKey(key)
    const claim = store.get(CLAIM, namespace, name)
    if (!claim) return
    if (claim.metadata.deletionTimestamp) letGo(context, claim)
    else if (claim.status?.phase !== 'Bound') bind(context, claim)
  })
  store.onChange(({ kind, type, object }) => {
    if (kind === CLAIM && type !== 'DELETED') queue.add(keyOf(object))
    if (kind === POD && type === 'DELETED') {
      for (const name of claimsOf(object)) queue.add(`${object.metadata.namespace}/${name}`)
    }
    if (kind === CLASS) for (const claim of store.list(CLAIM)) queue.add(keyOf(claim))
  })
}

const claimsOf = ({ spec }: KubeObject): string[] =>
  (spec.volumes ?? []).flatMap((volume: Json) => volume.persistentVolumeClaim?.claimName ?? [])

function letGo({ store, api }: Context, claim: KubeObject): void {
  const { namespace, name } = claim.metadata
  const isUsed = store.list(POD, namespace).some((pod) => claimsOf(pod).includes(name))
  if (isUsed) return
  const change = ({ metadata }: KubeObject) => {
    metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== PROTECTION)
  }
  api.modify(CLAIM, claim, change, CONTROLLER)
}

function bind({ store, api, event }: Context, claim: KubeObject): void {
  const wanted: string | undefined = claim.spec.storageClassName
  if (!wanted || !store.get(CLASS, undefined, wanted)) {
    const [reason, message] = wanted
      ? ['ProvisioningFailed', `storageclass.storage.k8s.io "${wanted}" not found`]
      : ['FailedBinding', 'no persistent volumes available for this claim and no storage class is set']
    event(claim, wanted ? 'Warning' : 'Normal', reason!, message!, 'persistentvolume-controller')
    const pending = (copy: KubeObject) => {
      copy.status = { phase: 'Pending' }
    }
    api.modify(CLAIM, claim, pending, { ...CONTROLLER, subresource: 'status' })
    return
  }
  const provision = (copy: KubeObject) => {
    copy.spec.volumeName = `pvc-${copy.metadata.uid}`
  }
  api.modify(CLAIM, claim, provision, CONTROLLER)
  const bound = (copy: KubeObject) => {
    const { accessModes, resources } = copy.spec
    copy.status = { phase: 'Bound', accessModes, capacity: { storage: resources.requests?.storage } }
  }
  api.modify(CLAIM, claim, bound, { ...CONTROLLER, subresource: 'status' })
}
