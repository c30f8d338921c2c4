/** What the sections of the page share: the stored settings, what is staged against them, and how to stage. */
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
  /** otherwise all of it is for reading */
  canEdit: boolean
  canReveal: boolean
  edit(path: string, value: Value): void
  /** null: it is to be taken away; undefined: it stays */
  setSecret(name: string, value: string | null | undefined): void
  keepMine(target: EditTarget): void
  takeTheirs(target: EditTarget): void
  /** Nothing of this is staged any more; absent: nothing at all. */
  clear(matches?: (path: string) => boolean, secrets?: boolean): void
  /** What is wrong with what stands in a field, and can't even be sent; null: nothing. */
  setFieldError(path: string, error: string | null): void
  fieldErrors: ReadonlyMap<string, string>
  /** While it is saved: what changes then is one's own. */
  setSaving(is: boolean): void
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

/** What the server says of the resources as they are staged. */
export interface ResourcePreview {
  effective: EffectiveResources | null
  /** by path: what speaks against it, of the server's words */
  issues: ReadonlyMap<string, string>
}

export const EditorContext = createContext<(Editor & ResourcePreview) | null>(null)
export const useEditor = (): Editor & ResourcePreview => useContext(EditorContext)!

/** Flags a field as long as what stands in it can't be sent. */
export function useFieldError(path: string, error: string | null): void {
  const { setFieldError } = useEditor()
  useEffect(() => setFieldError(path, error), [setFieldError, path, error])
  useEffect(() => () => setFieldError(path, null), [setFieldError, path])
}
