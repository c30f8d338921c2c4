/**
 * What somebody has changed on the page and not saved yet. Each edit knows what was stored when it was made: if something else is stored
 * now, somebody else has saved meanwhile, and both are shown. Pure.
 */
import type { StoredSettings } from './stored-settings.ts'

/** As JSON; null: nothing is said. */
export type Value = unknown

interface Edit {
  value: Value
  /** what was stored when it was made, or when it was last looked at */
  base: Value
}

/** `value` null: it is taken away. `from`: when it had been set then; null: it was not there. */
interface SecretEdit {
  value: string | null
  base: string | null
}

export interface StagedChanges {
  /** by the field's path */
  edits: ReadonlyMap<string, Edit>
  /** by name */
  secrets: ReadonlyMap<string, SecretEdit>
}

export const NO_CHANGES: StagedChanges = { edits: new Map(), secrets: new Map() }

export const isEmpty = ({ edits, secrets }: StagedChanges): boolean => edits.size === 0 && secrets.size === 0

/** Without what the cache adds, and without members that say nothing. */
export function withoutNulls(value: Value): Value {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value ?? null
  const entries = Object.entries(value).filter(
    ([name, one]) => name !== '__typename' && one !== null && one !== undefined,
  )
  return Object.fromEntries(
    entries.map(([name, one]) => [name, withoutNulls(one)] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

export const isSameValue = (a: Value, b: Value): boolean =>
  JSON.stringify(emptyToNull(a)) === JSON.stringify(emptyToNull(b))

/** An empty list or text says as much as none. */
function emptyToNull(value: Value): Value {
  const one = withoutNulls(value)
  if (one === '') return null
  if (typeof one === 'object' && one !== null && Object.keys(one).length === 0) return null
  return one
}

/** What is stored at a field. */
export function storedValue(settings: StoredSettings, path: string): Value {
  if (path === 'tags') return settings.tags.map(({ key, value }) => ({ key, value }))
  const found = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], settings)
  return withoutNulls(found)
}

/** When a secret was set; '' where nobody knows; null: there is none of this name. */
function secretSetAt(settings: StoredSettings, name: string): string | null {
  const found = settings.secrets.find((secret) => secret.name === name)
  return found ? (found.setAt ?? '') : null
}

/** What the page shows of a field: what was edited, or else what is stored. */
export const currentValue = (settings: StoredSettings, { edits }: StagedChanges, path: string): Value =>
  edits.has(path) ? edits.get(path)!.value : storedValue(settings, path)

export function stageEdit(staged: StagedChanges, settings: StoredSettings, path: string, value: Value): StagedChanges {
  const stored = storedValue(settings, path)
  const edits = new Map(staged.edits)
  if (isSameValue(value, stored)) edits.delete(path)
  else edits.set(path, { value, base: edits.get(path)?.base ?? stored })
  return { ...staged, edits }
}

/** `value` null: it is to be taken away; undefined: it stays as it is. */
export function stageSecret(
  staged: StagedChanges,
  settings: StoredSettings,
  name: string,
  value: string | null | undefined,
): StagedChanges {
  const secrets = new Map(staged.secrets)
  const stored = secretSetAt(settings, name)
  if (value === undefined || (value === null && stored === null)) secrets.delete(name)
  else secrets.set(name, { value, base: secrets.has(name) ? secrets.get(name)!.base : stored })
  return { ...staged, secrets }
}

/** Others have saved meanwhile what was edited here, too. `edited`: the fields; `secrets`: names. */
export interface Conflicts {
  paths: ReadonlySet<string>
  secrets: ReadonlySet<string>
}

export function findConflicts(settings: StoredSettings, { edits, secrets }: StagedChanges): Conflicts {
  const changed = [...edits]
    .filter(([path, { base }]) => !isSameValue(base, storedValue(settings, path)))
    .map(([path]) => path)
  const names = [...secrets].filter(([name, { base }]) => base !== secretSetAt(settings, name)).map(([name]) => name)
  return { paths: new Set(changed), secrets: new Set(names) }
}

/** What came to be stored as it was edited needs no edit any more. */
export function dropSaved(settings: StoredSettings, staged: StagedChanges): StagedChanges {
  const edits = [...staged.edits].filter(([path, { value }]) => !isSameValue(value, storedValue(settings, path)))
  const secrets = [...staged.secrets].filter(
    ([name, { value }]) => value !== null || secretSetAt(settings, name) !== null,
  )
  const isSame = edits.length === staged.edits.size && secrets.length === staged.secrets.size
  return isSame ? staged : { edits: new Map(edits), secrets: new Map(secrets) }
}

/** Mine is kept against what is stored now: it is no conflict any more. */
export function keepMine(
  settings: StoredSettings,
  staged: StagedChanges,
  target: { path: string } | { secret: string },
): StagedChanges {
  if ('path' in target) {
    const edit = staged.edits.get(target.path)
    if (!edit) return staged
    return {
      ...staged,
      edits: new Map(staged.edits).set(target.path, { ...edit, base: storedValue(settings, target.path) }),
    }
  }
  const edit = staged.secrets.get(target.secret)
  if (!edit) return staged
  const base = secretSetAt(settings, target.secret)
  return { ...staged, secrets: new Map(staged.secrets).set(target.secret, { ...edit, base }) }
}

/** Mine is let go. */
export function takeTheirs(staged: StagedChanges, target: { path: string } | { secret: string }): StagedChanges {
  const edits = new Map(staged.edits)
  const secrets = new Map(staged.secrets)
  if ('path' in target) edits.delete(target.path)
  else secrets.delete(target.secret)
  return { edits, secrets }
}
