/**
 * Unsaved changes of the settings. Each edit has a base: the value stored when it was made. If another value is stored now,
 * another user has saved it, and the page shows both.
 */
import { findField } from './fields.ts'
import { type Input, inputOf, isSameInput } from './inputs.ts'

interface Edit {
  /** null: removes a secret */
  value: Input | null
  /** of a field: its input; of a secret: when it was set, '' if unknown, null if it did not exist */
  base: Input | null
}

/** By the name of a field, or the key of a secret. */
export type Edits = Readonly<Record<string, Edit>>

/** The part of `Settings` that these rules use. */
export interface StoredSettings {
  source: string
  /** `setAt` null: unknown */
  secrets: readonly { name: string; setAt: string | null }[]
}

const SECRET = 'secrets.'
export const secretKey = (name: string): string => SECRET + name
/** Null: the key is the name of a field. */
export const secretName = (key: string): string | null => (key.startsWith(SECRET) ? key.slice(SECRET.length) : null)

function baseOf(settings: StoredSettings, key: string): Input | null {
  const field = findField(key)
  if (field) return inputOf(settings, field)
  const secret = settings.secrets.find(({ name }) => secretKey(name) === key)
  return secret ? (secret.setAt ?? '') : null
}

function isSaved(settings: StoredSettings, key: string, value: Input | null): boolean {
  const field = findField(key)
  const base = baseOf(settings, key)
  return field ? isSameInput(field, value!, base!) : value === null && base === null
}

const filterEdits = (edits: Edits, keeps: (key: string, edit: Edit) => boolean): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([key, edit]) => keeps(key, edit)))

export const dropEdit = (edits: Edits, key: string): Edits => filterEdits(edits, (other) => other !== key)

/** Drops edits that equal what is stored. */
export const dropSaved = (edits: Edits, settings: StoredSettings): Edits =>
  filterEdits(edits, (key, { value }) => !isSaved(settings, key, value))

export function setEdit(edits: Edits, settings: StoredSettings, key: string, value: Input | null): Edits {
  // the settings may be older than other edits: an upload reports minutes later
  if (isSaved(settings, key, value)) return dropEdit(edits, key)
  const base = edits[key] ? edits[key].base : baseOf(settings, key)
  return { ...edits, [key]: { value, base } }
}

/** The keys of edits whose stored value another user has changed since. */
export function findConflicts(edits: Edits, settings: StoredSettings): string[] {
  return Object.keys(edits).filter((key) => {
    const field = findField(key)
    const [before, now] = [edits[key]!.base, baseOf(settings, key)]
    return field ? !isSameInput(field, before!, now!) : before !== now
  })
}

/** Bases the edit on the value stored now, which resolves the conflict. */
export const keepMine = (edits: Edits, settings: StoredSettings, key: string): Edits => ({
  ...edits,
  [key]: { ...edits[key]!, base: baseOf(settings, key) },
})
