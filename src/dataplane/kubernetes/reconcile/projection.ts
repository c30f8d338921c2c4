/** Projects a live object onto the fields of its manifest, without server defaults. Equal projections: no drift. */
import type { LiveObject, Manifest } from '../objects/types.ts'

/** Lists that others may extend, with the keys of their items: type `map` (x-kubernetes-list-map-keys). */
const LIST_MAP_KEYS: Record<string, string[][]> = {
  containers: [['name']],
  initContainers: [['name']],
  volumes: [['name']],
  env: [['name']],
  imagePullSecrets: [['name']],
  claims: [['name']],
  volumeMounts: [['mountPath']],
  volumeDevices: [['devicePath']],
  ports: [
    ['containerPort', 'protocol'],
    ['port', 'protocol'],
  ],
  hostAliases: [['ip']],
  topologySpreadConstraints: [['topologyKey', 'whenUnsatisfiable']],
  ownerReferences: [['uid']],
}
/** Maps and structs with one owner (x-kubernetes-map-type: atomic): an added member may change the meaning. */
const ATOMIC = new Set([
  // of a Service or a workload
  'selector',
  'nodeSelector',
  'labelSelector',
  'podSelector',
  'namespaceSelector',
  'scaleTargetRef',
  'secretKeyRef',
  'configMapKeyRef',
  'fieldRef',
  'resourceFieldRef',
])
/** the API's default for an absent key member */
const DEFAULTS: Record<string, string> = { protocol: 'TCP' }
/** not observed (a Secret's content) or not applied (status) */
const UNCOMPARED_MEMBERS = new Set(['data', 'stringData', 'status'])

/** Returns the live values of the fields that the manifest sets, as a comparable text. Atomic values are whole. */
export function project(manifest: Manifest, live: LiveObject): string {
  const members = Object.keys(manifest).filter((member) => !UNCOMPARED_MEMBERS.has(member))
  return entries(members, (member) => pick(manifest[member], live[member], member))
}

function pick(desired: unknown, live: unknown, member: string): string {
  if (ATOMIC.has(member)) return whole(live)
  if (isMap(desired) && isMap(live)) {
    return entries(Object.keys(desired), (name) => pick(desired[name], live[name], name))
  }
  if (Array.isArray(desired) && Array.isArray(live)) {
    const keys = keysOf(member, desired)
    if (keys) return managedItems(keys, desired, live)
  }
  return whole(live)
}

function managedItems(keys: string[], desired: unknown[], live: unknown[]): string {
  const byId = new Map(desired.map((item) => [idOf(keys, item), item]))
  const items = live.flatMap((item) => {
    const id = idOf(keys, item)
    return byId.has(id) ? [`${id}:${pick(byId.get(id), item, '')}`] : []
  })
  return `[${items.join()}]`
}

/** Keys that identify the items of a list; null: the list is compared as a whole. */
function keysOf(member: string, desired: unknown[]): string[] | null {
  const has = (keys: string[]) =>
    desired.every((item) => isMap(item) && keys.every((key) => key in item || key in DEFAULTS))
  return LIST_MAP_KEYS[member]?.find(has) ?? null
}

function idOf(keys: string[], item: unknown): string {
  return JSON.stringify(keys.map((key) => (isMap(item) ? (item[key] ?? DEFAULTS[key]) : null)))
}

function whole(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(whole).join()}]`
  if (isMap(value)) return entries(Object.keys(value), (name) => whole(value[name]))
  return JSON.stringify(value) ?? 'null'
}

function entries(names: string[], text: (name: string) => string): string {
  return `{${[...names].sort().map((name) => `${JSON.stringify(name)}:${text(name)}`)}}`
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
