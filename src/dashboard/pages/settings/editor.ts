/** State that the page's sections share: the stored settings, the staged changes, and the functions that stage. */
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import type { EffectiveResources, Settings } from './documents.ts'
import {
  type Conflicts,
  dropSaved,
  findConflicts,
  keepMine,
  NO_CHANGES,
  type StagedChanges,
  stageEdit,
  stageSecret,
  takeTheirs,
  type Value,
} from './staged-changes.ts'

/** A field by its path, or a secret by its name. */
export type EditTarget = { path: string } | { secret: string }

export interface Editor {
  settings: Settings
  staged: StagedChanges
  conflicts: Conflicts
  /** false: all fields are read-only */
  canEdit: boolean
  canReveal: boolean
  edit(path: string, value: Value): void
  /** `null` removes the secret; `undefined` drops its staged change. */
  setSecret(name: string, value: string | null | undefined): void
  keepMine(target: EditTarget): void
  takeTheirs(target: EditTarget): void
  /** Drops the edits whose path matches (default: all), and all staged secrets unless `secrets` is false. */
  clear(matches?: (path: string) => boolean, secrets?: boolean): void
  /** Records why a field's input can't be sent; null: it can. */
  setFieldError(path: string, error: string | null): void
  fieldErrors: ReadonlyMap<string, string>
  /** No conflicts are reported during a save: the stored values change by the save itself. */
  setSaving(isSaving: boolean): void
}

const NO_CONFLICTS: Conflicts = { paths: new Set(), secrets: new Set() }

export function useStaging(settings: Settings, rights: Pick<Editor, 'canEdit' | 'canReveal'>): Editor {
  const [allStaged, setStaged] = useState<StagedChanges>(NO_CHANGES)
  const [fieldErrors, setFieldErrors] = useState<ReadonlyMap<string, string>>(new Map())
  const staged = useMemo(() => dropSaved(settings, allStaged), [settings, allStaged])
  const [isSaving, setSaving] = useState(false)
  const conflicts = useMemo(
    () => (isSaving ? NO_CONFLICTS : findConflicts(settings, staged)),
    [settings, staged, isSaving],
  )
  const setFieldError = useCallback((path: string, error: string | null) => {
    setFieldErrors((before) => {
      if ((before.get(path) ?? null) === error) return before
      const next = new Map(before)
      if (error === null) next.delete(path)
      else next.set(path, error)
      return next
    })
  }, [])
  return {
    settings,
    staged,
    conflicts,
    fieldErrors,
    ...rights,
    setFieldError,
    setSaving,
    edit: (path, value) => setStaged((before) => stageEdit(before, settings, path, value)),
    setSecret: (name, value) => setStaged((before) => stageSecret(before, settings, name, value)),
    keepMine: (target) => setStaged((before) => keepMine(settings, before, target)),
    takeTheirs: (target) => setStaged((before) => takeTheirs(before, target)),
    clear(matches = () => true, secrets = true) {
      setStaged((before) => ({
        edits: new Map([...before.edits].filter(([path]) => !matches(path))),
        secrets: secrets ? new Map() : before.secrets,
      }))
      setFieldErrors((before) => new Map([...before].filter(([path]) => !matches(path))))
    },
  }
}

/** The server's evaluation of the staged resources. */
export interface ResourcePreview {
  effective: EffectiveResources | null
  /** the server's error messages, by field path */
  issues: ReadonlyMap<string, string>
}

export const EditorContext = createContext<(Editor & ResourcePreview) | null>(null)
export const useEditor = (): Editor & ResourcePreview => useContext(EditorContext)!

/** Records a field error until the component unmounts. */
export function useFieldError(path: string, error: string | null): void {
  const { setFieldError } = useEditor()
  useEffect(() => setFieldError(path, error), [setFieldError, path, error])
  useEffect(() => () => setFieldError(path, null), [setFieldError, path])
}
