/**
 * Tells whether somebody has changed what we applied: looks at a live object only through the fields of our
 * manifest. Two projections of the same manifest are equal as long as nothing of ours was changed, whatever the
 * server defaults and others add beside it. Compared is always live with live (the first taken from the answer to
 * the apply), so that what the server normalises (`1000m` to `1`) does not matter.
 */
import type { LiveObject, Manifest } from '../objects/types.ts'

/**
 * Lists to which others may add, and the members by which their items are told apart: the API's lists of type
 * `map` (x-kubernetes-list-map-keys) within our kinds. Ports of containers and of Services differ. All other
 * lists belong as a whole to who applied them.
 */
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
/**
 * Maps and structs that count as one value (x-kubernetes-map-type: atomic): a member that somebody adds changes the
 * whole, takes its ownership from us, and may change what it means. All others can only be added to.
 */
const ATOMIC = new Set([
  // of a Service, of a workload
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
/** what the API puts in for a key member that is not set */
const DEFAULTS: Record<string, string> = { protocol: 'TCP' }
/** not seen in what is watched (a Secret's content), or not ours (status) */
const UNCOMPARED_MEMBERS = new Set(['data', 'stringData', 'status'])

/** The live values at exactly the fields that the manifest sets, atomic ones whole, as a text to compare. The content of a Secret is left out. */
export function project(manifest: Manifest, live: LiveObject): string {
  const members = Object.keys(manifest).filter((member) => !UNCOMPARED_MEMBERS.has(member))
  return entries(members, (member) => pick(manifest[member], live[member], member))
}

function pick(wanted: unknown, live: unknown, member: string): string {
  if (ATOMIC.has(member)) return whole(live)
  if (isMap(wanted) && isMap(live)) {
    return entries(Object.keys(wanted), (name) => pick(wanted[name], live[name], name))
  }
  if (Array.isArray(wanted) && Array.isArray(live)) {
    const keys = keysOf(member, wanted)
    if (keys) return ours(keys, wanted, live)
  }
  return whole(live)
}

/** Those items of the live list that are in the manifest, in the order in which they are there. */
function ours(keys: string[], wanted: unknown[], live: unknown[]): string {
  const byId = new Map(wanted.map((item) => [idOf(keys, item), item]))
  const items = live.flatMap((item) => {
    const id = idOf(keys, item)
    return byId.has(id) ? [`${id}:${pick(byId.get(id), item, '')}`] : []
  })
  return `[${items.join()}]`
}

/** By what to tell the items of a list apart; null: it counts as a whole. */
function keysOf(member: string, wanted: unknown[]): string[] | null {
  const has = (keys: string[]) =>
    wanted.every((item) => isMap(item) && keys.every((key) => key in item || key in DEFAULTS))
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
