/**
 * Binds volume claims: provisions a volume of an existing class or uses a prepared one. Keeps claims while a pod uses
 * them.
 */
import { type Context, keyOf, splitKey, WorkQueue } from '../context.ts'
import { kindNamed } from '../kinds.ts'
import type { Json, KubeObject } from '../objects.ts'
import { CONTROLLER, POD } from './pods.ts'
import { SELECTED_NODE } from './scheduler.ts'

const CLAIM = kindNamed('PersistentVolumeClaim')
const CLASS = kindNamed('StorageClass')
const VOLUME = kindNamed('PersistentVolume')
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
    if (kind === CLASS || kind === VOLUME) for (const claim of store.all(CLAIM)) queue.add(keyOf(claim))
  })
}

const claimsOf = ({ spec }: KubeObject): string[] =>
  (spec.volumes ?? []).flatMap((volume: Json) => volume.persistentVolumeClaim?.claimName ?? [])

function letGo({ store, api }: Context, claim: KubeObject): void {
  const { namespace, name } = claim.metadata
  const isUsed = store.all(POD, namespace).some((pod) => claimsOf(pod).includes(name))
  if (isUsed) return
  const change = ({ metadata }: KubeObject) => {
    metadata.finalizers = metadata.finalizers?.filter((finalizer) => finalizer !== PROTECTION)
  }
  api.modify(CLAIM, claim, change, CONTROLLER)
}

function bind(context: Context, claim: KubeObject): void {
  const { store, api, event } = context
  const className: string | undefined = claim.spec.storageClassName
  const given = store.all(VOLUME).find(({ spec }) => spec.claimRef?.uid === claim.metadata.uid)
  if (given) {
    bindTo(context, claim, given.metadata.name)
    return
  }
  const found = className ? store.get(CLASS, undefined, className) : undefined
  const pend = () =>
    api.modify(
      CLAIM,
      claim,
      (copy) => {
        copy.status = { phase: 'Pending' }
      },
      { ...CONTROLLER, subresource: 'status' },
    )
  if (!found) {
    const [reason, message] = className
      ? ['ProvisioningFailed', `storageclass.storage.k8s.io "${className}" not found`]
      : ['FailedBinding', 'no persistent volumes available for this claim and no storage class is set']
    event(claim, className ? 'Warning' : 'Normal', reason!, message!, 'persistentvolume-controller')
    pend()
    return
  }
  const late = found.volumeBindingMode === 'WaitForFirstConsumer'
  if (late && !claim.metadata.annotations?.[SELECTED_NODE]) {
    const message = 'waiting for first consumer to be created before binding'
    event(claim, 'Normal', 'WaitForFirstConsumer', message, 'persistentvolume-controller')
    pend()
    return
  }
  pend()
  context.after(context.delays.provision, () => bindTo(context, claim, `pvc-${claim.metadata.uid}`))
}

function bindTo({ api }: Context, claim: KubeObject, volume: string): void {
  const name = (copy: KubeObject) => {
    copy.spec.volumeName = volume
  }
  api.modify(CLAIM, claim, name, CONTROLLER)
  const bound = (copy: KubeObject) => {
    const { accessModes, resources } = copy.spec
    copy.status = { phase: 'Bound', accessModes, capacity: { storage: resources.requests?.storage } }
  }
  api.modify(CLAIM, claim, bound, { ...CONTROLLER, subresource: 'status' })
}
