/** The garbage collector: deletes objects without owners. A foreground deletion waits for the dependents. */
import { type Context, WorkQueue } from '../context.ts'
import { KINDS, type Kind, kindNamed } from '../kinds.ts'
import type { KubeObject, OwnerReference } from '../objects.ts'

const BY = { manager: 'kube-controller-manager' }
const NAMESPACED = KINDS.filter((kind) => kind.namespaced && kind.kind !== 'Event')

export function startGarbageCollector(context: Context): void {
  const { store } = context
  const dependents = new Map<string, Set<string>>()
  const queue = new WorkQueue(context, (key) => {
    const [name = '', namespace = '', ...id] = key.split('/').reverse()
    const kind = kindNamed(id[0]!)
    const object = store.get(kind, namespace, name)
    if (object) collect(context, kind, object, owned)
  })
  const keyOf = (kind: Kind, { metadata }: KubeObject) => `${kind.kind}/${metadata.namespace}/${metadata.name}`
  const owned = (uid: string): { kind: Kind; object: KubeObject }[] =>
    [...(dependents.get(uid) ?? [])].flatMap((key) => {
      const [kindName = '', namespace = '', name = ''] = key.split('/')
      const kind = kindNamed(kindName)
      const object = store.get(kind, namespace, name)
      return object?.metadata.ownerReferences?.some((o) => o.uid === uid) ? [{ kind, object }] : []
    })

  store.onChange(({ kind, type, object }) => {
    if (!NAMESPACED.includes(kind)) return
    const key = keyOf(kind, object)
    const owners = object.metadata.ownerReferences ?? []
    for (const { uid } of owners) {
      const known = dependents.get(uid) ?? new Set()
      dependents.set(uid, known)
      if (type === 'DELETED') known.delete(key)
      else known.add(key)
    }
    if (type === 'DELETED') {
      for (const dependent of dependents.get(object.metadata.uid) ?? []) queue.add(dependent)
      dependents.delete(object.metadata.uid)
      // an owner in foreground deletion may have waited for this object
      for (const owner of owners) queue.add(`${owner.kind}/${object.metadata.namespace}/${owner.name}`)
    } else if (owners.length > 0 || object.metadata.deletionTimestamp) queue.add(key)
  })
}

function collect(
  { store, api }: Context,
  kind: Kind,
  object: KubeObject,
  owned: (uid: string) => { kind: Kind; object: KubeObject }[],
): void {
  const { namespace, name, uid, ownerReferences = [], deletionTimestamp, finalizers = [] } = object.metadata
  const alive = (owner: OwnerReference): KubeObject | undefined => {
    const known = KINDS.find((k) => k.kind === owner.kind)
    const found = known && store.get(known, known.namespaced ? namespace : undefined, owner.name)
    return found?.metadata.uid === owner.uid ? found : undefined
  }
  if (!deletionTimestamp && ownerReferences.length > 0 && !ownerReferences.some(alive)) {
    api.delete(kind, namespace, name, { propagationPolicy: 'Background', preconditions: { uid } })
    return
  }
  const drop = (finalizer: string) =>
    api.modify(
      kind,
      object,
      ({ metadata }) => {
        metadata.finalizers = metadata.finalizers?.filter((f) => f !== finalizer)
      },
      BY,
    )
  if (deletionTimestamp && finalizers.includes('orphan')) {
    for (const dependent of owned(uid)) {
      const change = ({ metadata }: KubeObject) => {
        metadata.ownerReferences = metadata.ownerReferences?.filter((owner) => owner.uid !== uid)
      }
      api.modify(dependent.kind, dependent.object, change, BY)
    }
    drop('orphan')
  }
  if (deletionTimestamp && finalizers.includes('foregroundDeletion')) {
    const waiting = owned(uid)
    for (const { kind: k, object: o } of waiting) {
      if (!o.metadata.deletionTimestamp) {
        api.delete(k, namespace, o.metadata.name, {
          propagationPolicy: k.status && k.scale ? 'Foreground' : 'Background',
        })
      }
    }
    const blocking = owned(uid).filter(({ object: o }) =>
      o.metadata.ownerReferences!.some((owner) => owner.uid === uid && owner.blockOwnerDeletion),
    )
    if (blocking.length === 0) drop('foregroundDeletion')
  }
}
