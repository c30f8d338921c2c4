/** State that the page's sections share: the stored settings, the edits, and what follows from both. */
import { createContext, useContext, useMemo, useState } from 'react'
import type { Settings } from './documents.ts'
import { dropEdit, dropSaved, type Edits, findConflicts, keepMine, setEdit } from './edits.ts'
import { type Field, findField } from './fields.ts'
import { type Input, inputError, inputOf, isSameInput } from './inputs.ts'
import { type Issues, type ResourcePreview, useResourcePreview } from './use-resource-preview.ts'

export interface Editor {
  settings: Settings
  edits: Edits
  /** the keys of edits that conflict with another user's */
  conflicts: readonly string[]
  /** why inputs can't be sent, by the field's name */
  errors: Issues
  /** the server's errors, by the field's name or the secret's key */
  issues: Issues
  effective: ResourcePreview['effective']
  /** false: all fields are read-only */
  canEdit: boolean
  canReveal: boolean
  inputOf(field: Field): Input
  edit(key: string, value: Input | null): void
  keepMine(key: string): void
  /** Drops the edit. */
  takeTheirs(key: string): void
  /** Drops all edits, except for the one with this key. */
  clear(except?: string): void
  /** Shows the server's errors until the next edit. */
  refuse(issues: Issues): void
  /** No conflicts are reported during a save: the stored values change by the save itself. */
  setSaving(isSaving: boolean): void
}

const NO_ISSUES: Issues = new Map()

export function useSettingsEditor(settings: Settings, rights: Pick<Editor, 'canEdit' | 'canReveal'>): Editor {
  const [allEdits, setAllEdits] = useState<Edits>({})
  // the last typed input stays as it is while its value is the same: `a=1` and a new line is no edit yet
  const [typed, setTyped] = useState<{ name: string; input: Input } | null>(null)
  const [refused, setRefused] = useState(NO_ISSUES)
  const [isSaving, setSaving] = useState(false)
  const edits = useMemo(() => dropSaved(allEdits, settings), [allEdits, settings])
  const { effective, issues } = useResourcePreview(settings, edits)
  const setEdits = (change: (before: Edits) => Edits) => {
    // a new edit may fix what the server refused
    setRefused(NO_ISSUES)
    setAllEdits(change)
  }
  const errors = Object.entries(edits).flatMap(([name, { value }]): [string, string][] => {
    const field = findField(name)
    const error = field && inputError(field, value!, inputOf(settings, field))
    return error ? [[name, error]] : []
  })
  return {
    settings,
    edits,
    conflicts: isSaving ? [] : findConflicts(edits, settings),
    errors: new Map(errors),
    issues: new Map([...refused, ...issues]),
    effective,
    ...rights,
    inputOf(field) {
      const input = edits[field.name]?.value ?? inputOf(settings, field)
      return typed?.name === field.name && isSameInput(field, typed.input, input) ? typed.input : input
    },
    edit(key, value) {
      // never a secret
      setTyped(findField(key) ? { name: key, input: value! } : null)
      setEdits((before) => setEdit(before, settings, key, value))
    },
    keepMine: (key) => setEdits((before) => keepMine(before, settings, key)),
    takeTheirs: (key) => setEdits((before) => dropEdit(before, key)),
    clear: (except) => setEdits((before) => (except && before[except] ? { [except]: before[except] } : {})),
    refuse: setRefused,
    setSaving,
  }
}

export const EditorContext = createContext<Editor | null>(null)
export const useEditor = (): Editor => useContext(EditorContext)!
