/** ResourceQuota: counts a namespace's usage and refuses objects that exceed it. */
import { type Kind, kindNamed } from './kinds.ts'
import type { Json, KubeObject } from './objects.ts'
import { format, nano } from './quantity.ts'
import { forbidden } from './status.ts'
import type { Store } from './store.ts'

const QUOTA = kindNamed('ResourceQuota')
const POD = kindNamed('Pod')
const UNIT = 1_000_000_000n

type Usage = Map<string, bigint>

const COUNTED: Record<string, string> = {
  Pod: 'pods',
  Service: 'services',
  Secret: 'secrets',
  ConfigMap: 'configmaps',
  PersistentVolumeClaim: 'persistentvolumeclaims',
  ResourceQuota: 'resourcequotas',
}

const add = (usage: Usage, name: string, amount: bigint): Usage => usage.set(name, (usage.get(name) ?? 0n) + amount)

/** Usage of a pod: the larger of the sum of its containers and each init container. */
function podUsage(spec: Json): Usage {
  const usage: Usage = new Map()
  for (const member of ['requests', 'limits']) {
    for (const resource of ['cpu', 'memory', 'ephemeral-storage']) {
      const amountOf = (container: Json): bigint => nano(container.resources?.[member]?.[resource])
      const together = (spec.containers ?? []).reduce((sum: bigint, c: Json) => sum + amountOf(c), 0n)
      const most = (spec.initContainers ?? []).reduce(
        (m: bigint, c: Json) => (amountOf(c) > m ? amountOf(c) : m),
        together,
      )
      usage.set(`${member}.${resource}`, most)
      if (member === 'requests') usage.set(resource, most)
    }
  }
  return usage
}

function usageOf(kind: Kind, object: KubeObject): Usage {
  const usage: Usage = kind.kind === 'Pod' ? podUsage(object.spec) : new Map()
  if (COUNTED[kind.kind]) add(usage, COUNTED[kind.kind]!, UNIT)
  add(usage, `count/${kind.plural}${kind.group ? `.${kind.group}` : ''}`, UNIT)
  if (kind.kind === 'PersistentVolumeClaim') {
    add(usage, 'requests.storage', nano(object.spec.resources?.requests?.storage))
  }
  return usage
}

/** Ended pods don't count. */
const counts = (kind: Kind, object: KubeObject): boolean =>
  kind !== POD || !['Succeeded', 'Failed'].includes(object.status?.phase)

/** Usage of a quota's resources by all objects of a namespace. */
export function used(store: Store, kinds: Kind[], namespace: string, names: string[]): Usage {
  const total: Usage = new Map(names.map((name) => [name, 0n]))
  for (const kind of kinds) {
    for (const object of store.all(kind, namespace)) {
      if (!counts(kind, object)) continue
      const usage = usageOf(kind, object)
      for (const name of names) if (usage.has(name)) add(total, name, usage.get(name)!)
    }
  }
  return total
}

/** Refuses with 403 an object that exceeds a quota of its namespace. */
export function charge(store: Store, kind: Kind, object: KubeObject, live: KubeObject | null): void {
  if (!kind.namespaced || kind === QUOTA) return
  for (const quota of store.all(QUOTA, object.metadata.namespace)) {
    const hard: Record<string, string> = quota.spec?.hard ?? {}
    const usage = usageOf(kind, object)
    const had = live ? usageOf(kind, live) : new Map<string, bigint>()
    const concerned = Object.keys(hard).filter((name) => usage.has(name))
    const missing = kind === POD ? concerned.filter((name) => !isStated(name, object.spec)) : []
    if (missing.length > 0) {
      throw forbidden(
        kind,
        object.metadata.name,
        `failed quota: ${quota.metadata.name}: must specify ${mustSpecify(missing, object.spec)}`,
      )
    }
    const now = used(store, [kind], object.metadata.namespace!, concerned)
    const over = concerned.filter((name) => {
      const more = usage.get(name)! - (had.get(name) ?? 0n)
      return more > 0n && now.get(name)! + more > nano(hard[name])
    })
    if (over.length === 0) continue
    over.sort()
    const say = (amountOf: (name: string) => bigint) =>
      over.map((name) => `${name}=${format(amountOf(name), hard[name])}`).join(',')
    throw forbidden(
      kind,
      object.metadata.name,
      `exceeded quota: ${quota.metadata.name}, requested: ${say((n) => usage.get(n)! - (had.get(n) ?? 0n))}, ` +
        `used: ${say((n) => now.get(n)!)}, limited: ${over.map((n) => `${n}=${hard[n]}`).join(',')}`,
    )
  }
}

/** A quota on a compute resource requires every container to state it. */
function isStated(name: string, spec: Json): boolean {
  return containersWithout(name, spec).length === 0
}

function containersWithout(name: string, spec: Json): string[] {
  const [member, resource] = name.includes('.') ? name.split('.', 2) : ['requests', name]
  if (!['cpu', 'memory', 'ephemeral-storage'].includes(resource!)) return []
  const all = [...(spec.initContainers ?? []), ...(spec.containers ?? [])]
  return all.filter((c) => c.resources?.[member!]?.[resource!] === undefined).map((c) => c.name)
}

function mustSpecify(names: string[], spec: Json): string {
  return names
    .sort()
    .map((name) => `${name} for: ${[...new Set(containersWithout(name, spec))].sort().join(',')}`)
    .join('; ')
}
