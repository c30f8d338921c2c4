/** The garbage collector: deletes objects without owners. A foreground deletion waits for the dependents. */
import { type Context, WorkQueue } from '../context.ts'
import { type Kind, kindNamed } from '../kinds.ts'
import type { KubeObject } from '../objects.ts'

const FOREGROUND = 'foregroundDeletion'

interface Dependent {
  kind: Kind
  object: KubeObject
}

export function startGarbageCollector(context: Context): void {
  const { store } = context
  /** keys of objects, by the uid of an owner */
  const dependents = new Map<string, Set<string>>()
  const find = (key: string): Dependent[] => {
    const [kindName = '', namespace = '', name = ''] = key.split('/')
    const kind = kindNamed(kindName)
    const object = store.get(kind, namespace, name)
    return object ? [{ kind, object }] : []
  }
  const owned = (uid: string) => [...(dependents.get(uid) ?? [])].flatMap(find)
  const queue = new WorkQueue(context, (key) => {
    for (const found of find(key)) collect(context, found, owned)
  })
  store.onChange(({ kind, type, object }) => {
    const { namespace, name, uid, ownerReferences: owners = [], deletionTimestamp } = object.metadata
    const key = `${kind.kind}/${namespace}/${name}`
    for (const owner of owners) {
      const known = dependents.get(owner.uid) ?? new Set()
      dependents.set(owner.uid, known)
      if (type === 'DELETED') known.delete(key)
      else known.add(key)
      // an owner in foreground deletion may have waited for this object
      if (type === 'DELETED') queue.add(`${owner.kind}/${namespace}/${owner.name}`)
    }
    if (type === 'DELETED') for (const dependent of dependents.get(uid) ?? []) queue.add(dependent)
    else if (owners.length > 0 || deletionTimestamp) queue.add(key)
  })
}

function collect({ store, api }: Context, { kind, object }: Dependent, owned: (uid: string) => Dependent[]): void {
  const { namespace, name, uid, ownerReferences = [], deletionTimestamp, finalizers } = object.metadata
  const isAlive = (owner: { kind: string; name: string; uid: string }) =>
    store.get(kindNamed(owner.kind), namespace, owner.name)?.metadata.uid === owner.uid
  if (!deletionTimestamp) {
    if (ownerReferences.length > 0 && !ownerReferences.some(isAlive)) api.delete(kind, namespace, name)
    return
  }
  if (!finalizers?.includes(FOREGROUND)) return
  for (const { kind: each, object: one } of owned(uid))
    if (!one.metadata.deletionTimestamp)
      api.delete(each, namespace, one.metadata.name, {
        propagationPolicy: each.kind === 'ReplicaSet' ? 'Foreground' : 'Background',
      })
  if (owned(uid).length > 0) return
  api.modify(kind, object, ({ metadata }) => {
    metadata.finalizers = finalizers.filter((finalizer) => finalizer !== FOREGROUND)
  })
}
