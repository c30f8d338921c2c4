/** ResourceQuota for pods: counts a namespace's usage and refuses pods that exceed it. */
import { kindNamed } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import { format, nano } from './quantity.ts'
import { forbidden } from './status.ts'
import type { Store } from './store.ts'

const QUOTA = kindNamed('ResourceQuota')
const POD = kindNamed('Pod')

const isCompute = (name: string): boolean => /^(requests|limits)\.(cpu|memory)$/.test(name)

/** The amount of a container for a quota's resource, like `requests.cpu`. */
function amountOf({ resources }: Json, name: string): Json {
  const [member, resource] = name.split('.') as [string, string]
  return resources?.[member]?.[resource]
}

/** Usage of a pod in billionths. */
const usageOf = ({ spec }: KubeObject, name: string): bigint =>
  isCompute(name)
    ? spec.containers.reduce((sum: bigint, container: Json) => sum + nano(amountOf(container, name)), 0n)
    : nano('1')

/** Refuses with 403 a new pod that exceeds a quota of its namespace, or does not state a limited resource. */
export function charge(store: Store, pod: KubeObject): void {
  const { namespace, name } = pod.metadata
  const active = store.all(POD, namespace).filter(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase))
  for (const { spec, metadata } of store.all(QUOTA, namespace)) {
    const hard: Record<string, string> = spec.hard
    const limited = Object.keys(hard).filter((one) => one === 'pods' || isCompute(one))
    const unstated = limited.filter(
      (one) => isCompute(one) && pod.spec.containers.some((c: Json) => amountOf(c, one) === undefined),
    )
    if (unstated.length > 0)
      throw forbidden(POD, name, `failed quota: ${metadata.name}: must specify ${unstated.join(', ')}`)
    const used = (one: string): bigint => active.reduce((sum, other) => sum + usageOf(other, one), 0n)
    const over = limited.filter((one) => used(one) + usageOf(pod, one) > nano(hard[one])).sort()
    if (over.length === 0) continue
    const list = (text: (one: string) => string) => over.map((one) => `${one}=${text(one)}`).join(',')
    const requested = list((one) => format(usageOf(pod, one), hard[one]))
    const now = list((one) => format(used(one), hard[one]))
    const why = `requested: ${requested}, used: ${now}, limited: ${list((one) => hard[one]!)}`
    throw forbidden(POD, name, `exceeded quota: ${metadata.name}, ${why}`)
  }
}
