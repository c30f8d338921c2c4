/**
 * Server-side apply and field ownership, after structured-merge-diff. A field that its only manager no longer applies
 * is removed. Each apply is treated as forced.
 */
import {
  fieldsOf,
  fromFieldsV1,
  isAssociative,
  isGranular,
  itemElement,
  join,
  toFieldsV1,
  withParents,
} from './fields.ts'
import { clone, isMap, type Json, type KubeObject, type ManagedFieldsEntry, timestamp } from './objects.ts'

export type Writer = Pick<ManagedFieldsEntry, 'manager' | 'operation' | 'apiVersion'>

interface Owned {
  entry: ManagedFieldsEntry
  paths: Set<string>
}

const ownersOf = (object: KubeObject | null): Owned[] =>
  (object?.metadata.managedFields ?? []).map((entry) => ({ entry, paths: fromFieldsV1(entry.fieldsV1) }))

const isWriter = (entry: ManagedFieldsEntry, writer: Writer): boolean =>
  entry.manager === writer.manager && entry.operation === writer.operation && entry.apiVersion === writer.apiVersion

/** New manager entries. Only entries with changed fields get a new time. */
function entriesOf(owners: Owned[]): ManagedFieldsEntry[] {
  return owners
    .filter(({ paths }) => paths.size > 0)
    .map(({ entry, paths }) => {
      const fieldsV1 = toFieldsV1(paths)
      const isSame = JSON.stringify(entry.fieldsV1) === JSON.stringify(fieldsV1)
      return isSame ? entry : { ...entry, time: timestamp(), fieldsV1 }
    })
}

const newOwner = (writer: Writer): Owned => ({
  entry: { ...writer, time: timestamp(), fieldsType: 'FieldsV1', fieldsV1: {} },
  paths: new Set(),
})

/** metadata.managedFields after a write other than an apply: the writer owns the changed fields. */
export function ownersAfterUpdate(before: KubeObject | null, after: KubeObject, writer: Writer): ManagedFieldsEntry[] {
  const old = before ? fieldsOf(before) : new Map<string, string>()
  const now = fieldsOf(after)
  const changed = [...now].filter(([path, value]) => old.get(path) !== value).map(([path]) => path)
  const owners = ownersOf(before)
  if (!owners.some(({ entry }) => isWriter(entry, writer))) owners.push(newOwner(writer))
  for (const { entry, paths } of owners) {
    for (const path of paths) if (!now.has(path)) paths.delete(path)
    for (const path of changed) {
      if (isWriter(entry, writer)) paths.add(path)
      else if (now.get(path) !== '') paths.delete(path)
    }
  }
  return entriesOf(owners)
}

/** `live` merged with `config`, which wins. */
function merge(live: Json, config: Json, path: string[]): Json {
  if (isGranular(path, config) && isMap(live)) {
    const merged = { ...live }
    for (const [name, value] of Object.entries(config)) merged[name] = merge(live[name], value, [...path, `f:${name}`])
    return merged
  }
  if (Array.isArray(config) && Array.isArray(live) && isAssociative(path)) {
    const old = new Map(live.map((item) => [itemElement(path, item), item]))
    const items = config.map((item) => {
      const element = itemElement(path, item)
      const before = old.get(element)
      old.delete(element)
      return before === undefined || !isMap(item) ? item : merge(before, item, [...path, element])
    })
    // the applied items come first, then items that only the live object has
    return [...items, ...old.values()]
  }
  return clone(config)
}

/** The value without the paths in `gone`; undefined: nothing is left. */
function without(value: Json, path: string[], gone: Set<string>): Json {
  const isItem = path.at(-1)?.startsWith('k:') ?? false
  if (isItem || isGranular(path, value)) {
    const kept = Object.entries(value).flatMap(([name, member]) => {
      const below = [...path, `f:${name}`]
      const left = gone.has(join(below)) ? undefined : without(member, below, gone)
      return left === undefined ? [] : [[name, left]]
    })
    return isItem || kept.length > 0 || Object.keys(value).length === 0 ? Object.fromEntries(kept) : undefined
  }
  if (Array.isArray(value) && isAssociative(path)) {
    const kept = value.flatMap((item) => {
      const below = [...path, itemElement(path, item)]
      if (gone.has(join(below))) return []
      return [isMap(item) ? without(item, below, gone) : item]
    })
    return kept.length > 0 ? kept : undefined
  }
  return value
}

/**
 * The result of an apply to the live object (null: it does not exist), with new managedFields. `minor`: of the
 * cluster's version.
 */
export function applied(live: KubeObject | null, config: Json, writer: Writer, minor: number): KubeObject {
  const owners = ownersOf(live)
  const mine = owners.find(({ entry }) => isWriter(entry, writer)) ?? newOwner(writer)
  const others = owners.filter((owner) => owner !== mine)
  const paths = new Set(fieldsOf(config).keys())
  let merged = merge(live ?? {}, config, [])

  const kept = withParents([...paths, ...others.flatMap((owner) => [...owner.paths])])
  // before 1.22, server defaults stay when all applied fields next to them are removed
  const owned = minor < 22 ? mine.paths : withParents(mine.paths)
  const gone = new Set([...owned].filter((path) => !kept.has(path)))
  if (gone.size > 0) merged = without(merged, [], gone)

  const old = live ? fieldsOf(live) : new Map<string, string>()
  const now = fieldsOf(merged)
  for (const owner of others)
    for (const path of owner.paths)
      if (!now.has(path) || (old.get(path) !== now.get(path) && now.get(path) !== '')) owner.paths.delete(path)
  mine.paths = paths
  const entries = entriesOf(owners.includes(mine) ? owners : [...owners, mine])
  merged.metadata = { ...merged.metadata, managedFields: entries }
  return merged
}
