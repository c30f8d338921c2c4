/**
 * Fields of an object and their owners, as in structured-merge-diff. A field set is a flat set of paths, stored as
 * FieldsV1 in metadata.managedFields. See README.md for the form of a path.
 */
import { isMap, type Json } from './objects.ts'

/** Path → its value as JSON. An item of a list has '', because its members have their own paths. */
export type Fields = Map<string, string>

const SEPARATOR = '\n'

/** Lists whose items are identified by keys. */
const LIST_KEYS: Record<string, string[]> = {
  containers: ['name'],
  initContainers: ['name'],
  volumes: ['name'],
  env: ['name'],
  imagePullSecrets: ['name'],
  volumeMounts: ['mountPath'],
  topologySpreadConstraints: ['topologyKey', 'whenUnsatisfiable'],
  ownerReferences: ['uid'],
}
/** Of a container, and of a Service. Other lists of this name are atomic. */
const PORT_KEYS: Record<string, string[]> = {
  containers: ['containerPort', 'protocol'],
  initContainers: ['containerPort', 'protocol'],
  spec: ['port', 'protocol'],
}

function listKeys(path: string[]): string[] | undefined {
  const name = path.at(-1)?.slice(2) ?? ''
  if (name !== 'ports') return LIST_KEYS[name]
  const within = path.filter((element) => element.startsWith('f:')).at(-2)
  return PORT_KEYS[within?.slice(2) ?? '']
}

/** Defaults for missing keys of an item. */
const KEY_DEFAULTS: Record<string, Json> = { protocol: 'TCP' }

const SETS = new Set(['finalizers'])

/** Objects that are atomic for server-side apply (mapType or structType atomic). */
const ATOMIC = new Set([
  'selector',
  'nodeSelector',
  'labelSelector',
  'podSelector',
  'namespaceSelector',
  'matchLabels',
  'secretKeyRef',
  'configMapKeyRef',
  'fieldRef',
  'resourceFieldRef',
  'roleRef',
  'scaleTargetRef',
])

/** True: the list at this path is merged by its items. */
export const isAssociative = (path: string[]): boolean =>
  listKeys(path) !== undefined || SETS.has(path.at(-1)?.slice(2) ?? '')

/** True: the object at this path is merged by its members. */
export const isGranular = (path: string[], value: Json): boolean =>
  isMap(value) && !(path.length > 0 && ATOMIC.has(path.at(-1)!.slice(2)))

/** The path element of an item of an associative list or a set. */
export function itemElement(path: string[], item: Json): string {
  const keys = listKeys(path)
  if (!keys) return `v:${JSON.stringify(item)}`
  const entries = keys.map((k) => [k, item?.[k] ?? KEY_DEFAULTS[k]]).filter(([, value]) => value !== undefined)
  return `k:${JSON.stringify(Object.fromEntries(entries))}`
}

export const join = (path: string[]): string => path.join(SEPARATOR)
export const split = (path: string): string[] => path.split(SEPARATOR)

const UNTRACKED = new Set(
  ['name', 'namespace', 'creationTimestamp', 'uid', 'generation', 'managedFields', 'resourceVersion'].map((name) =>
    join(['f:metadata', `f:${name}`]),
  ),
)

/** Every field of an object with its value. Type, name, server metadata and status have no owner. */
export function fieldsOf({ apiVersion: _v, kind: _k, status: _s, ...object }: Json): Fields {
  const fields: Fields = new Map()
  const walk = (value: Json, path: string[]): void => {
    const at = join(path)
    if (UNTRACKED.has(at)) return
    if (isGranular(path, value)) {
      const members = Object.entries(value).filter(([, member]) => member !== undefined)
      if (members.length === 0 && path.length > 0) fields.set(at, '{}')
      for (const [name, member] of members) walk(member, [...path, `f:${name}`])
    } else if (Array.isArray(value) && isAssociative(path)) {
      for (const item of value) {
        const below = [...path, itemElement(path, item)]
        fields.set(join(below), '')
        if (isMap(item)) for (const [name, member] of Object.entries(item)) walk(member, [...below, `f:${name}`])
      }
    } else {
      fields.set(at, JSON.stringify(value))
    }
  }
  walk(object, [])
  return fields
}

/** The paths plus those of their parent objects. List items are fields themselves. */
export function withParents(paths: Iterable<string>): Set<string> {
  const all = new Set<string>()
  for (const path of paths) {
    all.add(path)
    const elements = split(path)
    for (let n = elements.length - 1; n > 0; n--) all.add(join(elements.slice(0, n)))
  }
  return all
}

/** A field set in the form of metadata.managedFields. */
export function toFieldsV1(paths: Iterable<string>): Json {
  const root: Json = {}
  for (const path of [...paths].sort()) {
    let node = root
    for (const element of split(path)) {
      node[element] ??= {}
      node = node[element]
    }
    node['.'] = {}
  }
  const tidy = (node: Json): Json => {
    const members = Object.entries(node).filter(([name]) => name !== '.')
    if (members.length === 0) return {}
    return Object.fromEntries([...('.' in node ? [['.', {}]] : []), ...members.map(([n, m]) => [n, tidy(m)])])
  }
  return tidy(root)
}

export function fromFieldsV1(fieldsV1: Json): Set<string> {
  const paths = new Set<string>()
  const walk = (node: Json, path: string[]): void => {
    const members = Object.keys(node).filter((name) => name !== '.')
    if (path.length > 0 && (members.length === 0 || '.' in node)) paths.add(join(path))
    for (const name of members) walk(node[name], [...path, name])
  }
  walk(fieldsV1 ?? {}, [])
  return paths
}
