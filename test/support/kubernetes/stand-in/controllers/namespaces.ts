/**
 * The namespace controller: creates the default service account and the cluster's certificate, and empties deleted
 * namespaces.
 */
import { type Context, WorkQueue } from '../context.ts'
import { KINDS, kindNamed } from '../kinds.ts'

const NAMESPACE = kindNamed('Namespace')
const NAMESPACED = KINDS.filter((kind) => kind.namespaced)
const BY = { manager: 'kube-controller-manager' }

export function startNamespaces(context: Context): void {
  const { store, api } = context
  const queue = new WorkQueue(context, (name) => {
    const namespace = store.get(NAMESPACE, undefined, name)
    if (!namespace) return
    if (!namespace.metadata.deletionTimestamp) return furnish(context, name)
    const left = NAMESPACED.flatMap((kind) => store.all(kind, name).map((object) => ({ kind, object })))
    for (const { kind, object } of left)
      api.delete(kind, name, object.metadata.name, { propagationPolicy: 'Background' })
    if (NAMESPACED.some((kind) => store.all(kind, name).length > 0)) return
    const change = (copy: typeof namespace) => {
      copy.spec.finalizers = []
    }
    api.modify(NAMESPACE, namespace, change, BY)
  })
  store.onChange(({ kind, type, object }) => {
    if (kind === NAMESPACE) return queue.add(object.metadata.name)
    if (type === 'DELETED' && object.metadata.namespace) {
      const home = store.get(NAMESPACE, undefined, object.metadata.namespace)
      if (home?.metadata.deletionTimestamp || kind.kind === 'ServiceAccount') queue.add(object.metadata.namespace)
    }
  })
}

/** The service account exists immediately. A real cluster needs a moment, which Pilothouse never observes. */
function furnish({ store, api }: Context, namespace: string): void {
  const make = (kind: string, name: string, body: object): void => {
    if (!store.get(kindNamed(kind), namespace, name))
      api.create(kindNamed(kind), namespace, { metadata: { name }, ...body }, BY)
  }
  make('ServiceAccount', 'default', {})
  make('ConfigMap', 'kube-root-ca.crt', { data: { 'ca.crt': '' } })
}
