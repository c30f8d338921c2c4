/** Writes the status of ResourceQuotas: used and allowed amounts. Admission counts separately. */
import { type Context, WorkQueue } from '../context.ts'
import { KINDS, kindNamed } from '../kinds.ts'
import { equal, type KubeObject } from '../objects.ts'
import { format } from '../quantity.ts'
import { used } from '../quota.ts'
import { CONTROLLER } from './pods.ts'

const QUOTA = kindNamed('ResourceQuota')
const COUNTED = KINDS.filter((kind) => kind.namespaced && kind.kind !== 'Event')

export function startQuotas(context: Context): void {
  const { store, api } = context
  const queue = new WorkQueue(context, (namespace) => {
    for (const quota of store.all(QUOTA, namespace)) {
      const hard: Record<string, string> = quota.spec?.hard ?? {}
      const usage = used(store, COUNTED, namespace, Object.keys(hard))
      const status = { hard, used: Object.fromEntries([...usage].map(([name, n]) => [name, format(n, hard[name])])) }
      if (equal(status, quota.status)) continue
      const change = (copy: KubeObject) => {
        copy.status = status
      }
      api.modify(QUOTA, quota, change, { ...CONTROLLER, subresource: 'status' })
    }
  })
  store.onChange(({ kind, type, object }) => {
    const { namespace } = object.metadata
    if (!namespace || !COUNTED.includes(kind) || (kind !== QUOTA && type === 'MODIFIED' && kind.kind !== 'Pod')) return
    if (store.all(QUOTA, namespace).length > 0) queue.add(namespace)
  })
}
