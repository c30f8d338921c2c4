/**
 * Server-side apply and field ownership, after structured-merge-diff. A field that its only manager no longer applies
 * is removed. A field that another manager owns with another value is a conflict.
 */
import {
  fieldsOf,
  fromFieldsV1,
  isGranular,
  isMap,
  itemElement,
  join,
  listType,
  split,
  toFieldsV1,
  withParents,
} from './fields.ts'
import { clone, type Json, type KubeObject, type ManagedFieldsEntry, timestamp } from './objects.ts'
import { ApiError } from './status.ts'

export interface Writer {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  subresource?: string
}

interface Owned {
  entry: ManagedFieldsEntry
  paths: Set<string>
}

const STATUS = 'f:status'
const isStatus = (path: string): boolean => path === STATUS || path.startsWith(`${STATUS}\n`)

/** Fields that count for a write: only the status for its subresource, and never the status otherwise. */
const counts = (writer: Writer, hasStatus: boolean) => (path: string) =>
  writer.subresource === 'status' ? isStatus(path) : !(hasStatus && isStatus(path))

function ownersOf(object: Json): Owned[] {
  const entries: ManagedFieldsEntry[] = object?.metadata?.managedFields ?? []
  return entries.map((entry) => ({ entry, paths: fromFieldsV1(entry.fieldsV1) }))
}

const isWriter = (entry: ManagedFieldsEntry, writer: Writer): boolean =>
  entry.manager === writer.manager &&
  entry.operation === writer.operation &&
  entry.apiVersion === writer.apiVersion &&
  entry.subresource === writer.subresource

/** New manager entries. Only entries with changed fields get a new time. */
function entriesOf(owners: Owned[], before: ManagedFieldsEntry[]): ManagedFieldsEntry[] {
  return owners
    .filter(({ paths }) => paths.size > 0)
    .map(({ entry, paths }) => {
      const fieldsV1 = toFieldsV1(paths)
      const old = before.find((b) => b === entry)
      return old && JSON.stringify(old.fieldsV1) === JSON.stringify(fieldsV1)
        ? old
        : { ...entry, time: timestamp(), fieldsV1 }
    })
}

function newEntry({ manager, operation, apiVersion, subresource }: Writer): ManagedFieldsEntry {
  const entry: ManagedFieldsEntry = {
    manager,
    operation,
    apiVersion,
    time: timestamp(),
    fieldsType: 'FieldsV1',
    fieldsV1: {},
  }
  return subresource ? { ...entry, subresource } : entry
}

/** metadata.managedFields after a write other than an apply: the writer owns the changed fields. */
export function ownersAfterUpdate(before: KubeObject | null, after: KubeObject, writer: Writer): ManagedFieldsEntry[] {
  // a status write changes nothing else, and is by far the most frequent write
  const part = (object: KubeObject) => (writer.subresource === 'status' ? { status: object.status } : object)
  const old = before ? fieldsOf(part(before)) : new Map<string, string>()
  const now = fieldsOf(part(after))
  const changed = [...now].filter(([path, value]) => old.get(path) !== value).map(([path]) => path)
  const removed = [...old.keys()].filter((path) => !now.has(path))
  const owners = ownersOf(before)
  if (changed.length > 0 && !owners.some(({ entry }) => isWriter(entry, writer))) {
    owners.push({ entry: newEntry(writer), paths: new Set() })
  }
  for (const { entry, paths } of owners) {
    const mine = isWriter(entry, writer)
    for (const path of removed) paths.delete(path)
    for (const path of changed) {
      if (mine) paths.add(path)
      else if (now.get(path) !== '') paths.delete(path)
    }
  }
  return entriesOf(owners, before?.metadata.managedFields ?? [])
}

/** `live` merged with `config`, which wins. Null in a config has no effect. */
function merge(live: Json, config: Json, path: string[]): Json {
  if (isGranular(path, config) && isMap(live)) {
    const merged = { ...live }
    for (const [name, value] of Object.entries(config)) merged[name] = merge(live[name], value, [...path, `f:${name}`])
    return merged
  }
  if (Array.isArray(config) && Array.isArray(live) && listType(path) !== 'atomic') {
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
function without(value: Json, path: string[], gone: Set<string>, touched: Set<string>): Json {
  if (isGranular(path, value)) {
    const kept = Object.entries(value).flatMap(([name, member]) => {
      const below = [...path, `f:${name}`]
      const at = join(below)
      if (gone.has(at)) return []
      const left = touched.has(at) ? without(member, below, gone, touched) : member
      return left === undefined ? [] : [[name, left]]
    })
    return kept.length > 0 || Object.keys(value).length === 0 ? Object.fromEntries(kept) : undefined
  }
  if (Array.isArray(value) && listType(path) !== 'atomic') {
    const kept = value.flatMap((item) => {
      const below = [...path, itemElement(path, item)]
      const at = join(below)
      if (gone.has(at)) return []
      return [isMap(item) && touched.has(at) ? withoutMembers(item, below, gone, touched) : item]
    })
    return kept.length > 0 ? kept : undefined
  }
  return value
}

const withoutMembers = (item: Json, path: string[], gone: Set<string>, touched: Set<string>): Json =>
  Object.fromEntries(
    Object.entries(item).flatMap(([name, member]) => {
      const below = [...path, `f:${name}`]
      if (gone.has(join(below))) return []
      const left = touched.has(join(below)) ? without(member, below, gone, touched) : member
      return left === undefined ? [] : [[name, left]]
    }),
  )

/** Formats a field for a conflict, like `.spec.template.spec.containers[name="server"].image`. */
function readable(path: string): string {
  return split(path)
    .map((element) => {
      if (element.startsWith('f:')) return `.${element.slice(2)}`
      if (element.startsWith('v:')) return `[=${element.slice(2)}]`
      const keys = Object.entries(JSON.parse(element.slice(2)))
      return `[${keys.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`
    })
    .join('')
}

function refuse(conflicts: { manager: string; operation: string; apiVersion: string; path: string }[]): ApiError {
  const word = conflicts.length === 1 ? 'conflict' : 'conflicts'
  const using = (c: { operation: string; apiVersion: string }) =>
    c.operation === 'Update' ? ` using ${c.apiVersion}` : ''
  const causes = conflicts.map((c) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${c.manager}"${using(c)}`,
    field: readable(c.path),
  }))
  const list = causes.map(({ message, field }) => `${message}: ${field}`).join('\n- ')
  const text = causes.length === 1 ? list : `conflicts:\n- ${list}`
  return new ApiError(409, 'Conflict', `Apply failed with ${causes.length} ${word}: ${text}`, { causes })
}

interface Rules {
  force: boolean
  hasStatus: boolean
  /** minor version of the cluster */
  minor: number
}

/** Before 1.21 a port of a Service is only identified with its protocol, despite the default. */
function requireKeys(config: Json, minor: number): void {
  const ports: Json[] = config.kind === 'Service' ? (config.spec?.ports ?? []) : []
  const bare = minor < 21 ? ports.findIndex(({ protocol }) => !protocol) : -1
  if (bare < 0) return
  const why = `.spec.ports: element ${bare}: associative list with keys has an element that omits key field "protocol"`
  throw new ApiError(500, '', `failed to create typed patch object: ${why} (and doesn't have default value)`)
}

/** The result of an apply to the live object (null: it does not exist), with new managedFields. */
export function applied(
  live: KubeObject | null,
  config: Json,
  writer: Writer,
  { force, hasStatus, minor }: Rules,
): KubeObject {
  requireKeys(config, minor)
  const owners = ownersOf(live)
  const mine = owners.find(({ entry }) => isWriter(entry, writer))
  const others = owners.filter((owner) => owner !== mine)
  const relevant = counts(writer, hasStatus)
  const paths = new Set([...fieldsOf(config).keys()].filter(relevant))
  let merged = merge(live ?? {}, config, [])

  const kept = withParents([...paths, ...others.flatMap((owner) => [...owner.paths])])
  // before 1.22, server defaults stay when all applied fields next to them are removed
  const owned = minor < 22 ? (mine?.paths ?? []) : withParents(mine?.paths ?? [])
  const gone = new Set([...owned].filter((path) => !kept.has(path)))
  if (gone.size > 0) merged = without(merged, [], gone, withParents(gone))

  const old = live ? fieldsOf(live) : new Map<string, string>()
  const now = fieldsOf(merged)
  const changed = new Set([...now].filter(([path, value]) => old.get(path) !== value).map(([path]) => path))
  const conflicts = others.flatMap(({ entry, paths: theirs }) =>
    [...theirs].filter((path) => changed.has(path) && now.get(path) !== '').map((path) => ({ ...entry, path })),
  )
  if (conflicts.length > 0 && !force) throw refuse(conflicts)
  for (const owner of others) {
    for (const path of owner.paths) {
      if (!now.has(path) || (changed.has(path) && now.get(path) !== '')) owner.paths.delete(path)
    }
  }
  const next = mine ? { entry: mine.entry, paths } : { entry: newEntry(writer), paths }
  const all = mine ? owners.map((owner) => (owner === mine ? next : owner)) : [...owners, next]
  merged.metadata = { ...merged.metadata, managedFields: entriesOf(all, live?.metadata.managedFields ?? []) }
  return merged
}
