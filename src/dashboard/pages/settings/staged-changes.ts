/**
 * Unsaved changes of the settings page. Each edit records the stored value that it is based on. If another value is
 * stored now, another user has saved the field, and the page shows both values.
 */
import type { StoredSettings } from './stored-settings.ts'

/** A JSON value; null: not set. */
export type Value = unknown

interface Edit {
  value: Value
  /** stored value when the edit was made or last reviewed */
  base: Value
}

/** `value` null: removes the secret. `base`: when the secret was last set then; null: it did not exist. */
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

/** Drops null members and the cache's `__typename`, and sorts members by name. */
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

/** An empty text, list or object equals null. */
function emptyToNull(value: Value): Value {
  const one = withoutNulls(value)
  if (one === '') return null
  if (typeof one === 'object' && one !== null && Object.keys(one).length === 0) return null
  return one
}

export function storedValue(settings: StoredSettings, path: string): Value {
  if (path === 'tags') return settings.tags.map(({ key, value }) => ({ key, value }))
  const found = path
    .split('.')
    .reduce<unknown>((at, name) => (at as Record<string, unknown> | null | undefined)?.[name], settings)
  return withoutNulls(found)
}

/** When a secret was set; '' if unknown; null if no secret has this name. */
function secretSetAt(settings: StoredSettings, name: string): string | null {
  const found = settings.secrets.find((secret) => secret.name === name)
  return found ? (found.setAt ?? '') : null
}

/** The staged value of a field, or else the stored one. */
export const currentValue = (settings: StoredSettings, { edits }: StagedChanges, path: string): Value =>
  edits.has(path) ? edits.get(path)!.value : storedValue(settings, path)

export function stageEdit(staged: StagedChanges, settings: StoredSettings, path: string, value: Value): StagedChanges {
  const stored = storedValue(settings, path)
  const edits = new Map(staged.edits)
  if (isSameValue(value, stored)) edits.delete(path)
  else edits.set(path, { value, base: edits.get(path)?.base ?? stored })
  return { ...staged, edits }
}

/** `value` null removes the secret; undefined drops its staged change. */
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

/** Fields (by path) and secrets (by name) that were edited here and saved by another user since. */
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

/** Drops edits that equal the stored value. */
export function dropSaved(settings: StoredSettings, staged: StagedChanges): StagedChanges {
  const edits = [...staged.edits].filter(([path, { value }]) => !isSameValue(value, storedValue(settings, path)))
  const secrets = [...staged.secrets].filter(
    ([name, { value }]) => value !== null || secretSetAt(settings, name) !== null,
  )
  const isSame = edits.length === staged.edits.size && secrets.length === staged.secrets.size
  return isSame ? staged : { edits: new Map(edits), secrets: new Map(secrets) }
}

/** Bases the edit on the value stored now, which resolves the conflict. */
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

export function takeTheirs(staged: StagedChanges, target: { path: string } | { secret: string }): StagedChanges {
  const edits = new Map(staged.edits)
  const secrets = new Map(staged.secrets)
  if ('path' in target) edits.delete(target.path)
  else secrets.delete(target.secret)
  return { edits, secrets }
}
