/**
 * What somebody has changed on the page and not saved yet. Each edit knows what was stored when it was made: if something else is stored
 * now, somebody else has saved meanwhile, and both are shown. Pure.
 */
import type { Stored } from './stored.ts'

/** As JSON; null: nothing is said. */
export type Value = unknown

interface Edit {
  value: Value
  /** what was stored when it was made, or when it was last looked at */
  from: Value
}

/** `value` null: it is taken away. `from`: when it had been set then; null: it was not there. */
interface SecretEdit {
  value: string | null
  from: string | null
}

export interface Staged {
  /** by the field's path */
  edits: ReadonlyMap<string, Edit>
  /** by name */
  secrets: ReadonlyMap<string, SecretEdit>
}

export const NOTHING: Staged = { edits: new Map(), secrets: new Map() }

export const isEmpty = ({ edits, secrets }: Staged): boolean => edits.size === 0 && secrets.size === 0

/** Without what the cache adds, and without members that say nothing. */
export function plain(value: Value): Value {
  if (Array.isArray(value)) return value.map(plain)
  if (value === null || typeof value !== 'object') return value ?? null
  const entries = Object.entries(value).filter(
    ([name, one]) => name !== '__typename' && one !== null && one !== undefined,
  )
  return Object.fromEntries(
    entries.map(([name, one]) => [name, plain(one)] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

export const same = (a: Value, b: Value): boolean => JSON.stringify(normal(a)) === JSON.stringify(normal(b))

/** An empty list or text says as much as none. */
function normal(value: Value): Value {
  const one = plain(value)
  if (one === '') return null
  if (typeof one === 'object' && one !== null && Object.keys(one).length === 0) return null
  return one
}

/** What is stored at a field. */
export function storedAt(settings: Stored, path: string): Value {
  if (path === 'tags') return settings.tags.map(({ key, value }) => ({ key, value }))
  const found = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], settings)
  return plain(found)
}

/** When a secret was set; '' where nobody knows; null: there is none of this name. */
function setAtOf(settings: Stored, name: string): string | null {
  const found = settings.secrets.find((secret) => secret.name === name)
  return found ? (found.setAt ?? '') : null
}

/** What the page shows of a field: what was edited, or else what is stored. */
export const shownAt = (settings: Stored, { edits }: Staged, path: string): Value =>
  edits.has(path) ? edits.get(path)!.value : storedAt(settings, path)

export function withEdit(staged: Staged, settings: Stored, path: string, value: Value): Staged {
  const stored = storedAt(settings, path)
  const edits = new Map(staged.edits)
  if (same(value, stored)) edits.delete(path)
  else edits.set(path, { value, from: edits.get(path)?.from ?? stored })
  return { ...staged, edits }
}

/** `value` null: it is to be taken away; undefined: it stays as it is. */
export function withSecret(staged: Staged, settings: Stored, name: string, value: string | null | undefined): Staged {
  const secrets = new Map(staged.secrets)
  const stored = setAtOf(settings, name)
  if (value === undefined || (value === null && stored === null)) secrets.delete(name)
  else secrets.set(name, { value, from: secrets.has(name) ? secrets.get(name)!.from : stored })
  return { ...staged, secrets }
}

/** Others have saved meanwhile what was edited here, too. `edited`: the fields; `secrets`: names. */
export interface Conflicts {
  edited: ReadonlySet<string>
  secrets: ReadonlySet<string>
}

export function conflictsOf(settings: Stored, { edits, secrets }: Staged): Conflicts {
  const edited = [...edits].filter(([path, { from }]) => !same(from, storedAt(settings, path))).map(([path]) => path)
  const names = [...secrets].filter(([name, { from }]) => from !== setAtOf(settings, name)).map(([name]) => name)
  return { edited: new Set(edited), secrets: new Set(names) }
}

/** What came to be stored as it was edited needs no edit any more. */
export function withoutDone(settings: Stored, staged: Staged): Staged {
  const edits = [...staged.edits].filter(([path, { value }]) => !same(value, storedAt(settings, path)))
  const secrets = [...staged.secrets].filter(([name, { value }]) => value !== null || setAtOf(settings, name) !== null)
  const isSame = edits.length === staged.edits.size && secrets.length === staged.secrets.size
  return isSame ? staged : { edits: new Map(edits), secrets: new Map(secrets) }
}

/** Mine is kept against what is stored now: it is no conflict any more. */
export function keepMine(settings: Stored, staged: Staged, which: { path: string } | { secret: string }): Staged {
  if ('path' in which) {
    const edit = staged.edits.get(which.path)
    if (!edit) return staged
    return {
      ...staged,
      edits: new Map(staged.edits).set(which.path, { ...edit, from: storedAt(settings, which.path) }),
    }
  }
  const edit = staged.secrets.get(which.secret)
  if (!edit) return staged
  const from = setAtOf(settings, which.secret)
  return { ...staged, secrets: new Map(staged.secrets).set(which.secret, { ...edit, from }) }
}

/** Mine is let go. */
export function takeTheirs(staged: Staged, which: { path: string } | { secret: string }): Staged {
  const edits = new Map(staged.edits)
  const secrets = new Map(staged.secrets)
  if ('path' in which) edits.delete(which.path)
  else secrets.delete(which.secret)
  return { edits, secrets }
}
