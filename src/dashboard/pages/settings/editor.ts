/** What the sections of the page share: the stored settings, what is staged against them, and how to stage. */
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from 'react'
import type { Effective, Settings } from './documents.ts'
import {
  type Conflicts,
  conflictsOf,
  keepMine,
  NOTHING,
  type Staged,
  takeTheirs,
  type Value,
  withEdit,
  withoutDone,
  withSecret,
} from './staged.ts'

/** A field by its path, or a secret by its name. */
export type Which = { path: string } | { secret: string }

export interface Editor {
  settings: Settings
  staged: Staged
  conflicts: Conflicts
  /** otherwise all of it is for reading */
  canEdit: boolean
  canReveal: boolean
  edit(path: string, value: Value): void
  /** null: it is to be taken away; undefined: it stays */
  setSecret(name: string, value: string | null | undefined): void
  keep(which: Which): void
  take(which: Which): void
  /** Nothing of this is staged any more; absent: nothing at all. */
  clear(done?: (path: string) => boolean, secrets?: boolean): void
  /** What is wrong with what stands in a field, and can't even be sent; null: nothing. */
  flag(path: string, wrong: string | null): void
  flags: ReadonlyMap<string, string>
  /** While it is saved: what changes then is one's own. */
  setSaving(is: boolean): void
}

const NONE: Conflicts = { edited: new Set(), secrets: new Set() }

export function useStaging(settings: Settings, rights: Pick<Editor, 'canEdit' | 'canReveal'>): Editor {
  const [all, setStaged] = useState<Staged>(NOTHING)
  const [flags, setFlags] = useState<ReadonlyMap<string, string>>(new Map())
  const staged = useMemo(() => withoutDone(settings, all), [settings, all])
  const [isSaving, setSaving] = useState(false)
  const conflicts = useMemo(() => (isSaving ? NONE : conflictsOf(settings, staged)), [settings, staged, isSaving])
  const flag = useCallback((path: string, wrong: string | null) => {
    setFlags((before) => {
      if ((before.get(path) ?? null) === wrong) return before
      const next = new Map(before)
      if (wrong === null) next.delete(path)
      else next.set(path, wrong)
      return next
    })
  }, [])
  return {
    settings,
    staged,
    conflicts,
    flags,
    ...rights,
    flag,
    setSaving,
    edit: (path, value) => setStaged((before) => withEdit(before, settings, path, value)),
    setSecret: (name, value) => setStaged((before) => withSecret(before, settings, name, value)),
    keep: (which) => setStaged((before) => keepMine(settings, before, which)),
    take: (which) => setStaged((before) => takeTheirs(before, which)),
    clear(done = () => true, secrets = true) {
      setStaged((before) => ({
        edits: new Map([...before.edits].filter(([path]) => !done(path))),
        secrets: secrets ? new Map() : before.secrets,
      }))
      setFlags((before) => new Map([...before].filter(([path]) => !done(path))))
    },
  }
}

/** What the server says of the resources as they are staged. */
export interface Advice {
  effective: Effective | null
  /** by path: what speaks against it, of the server's words */
  issues: ReadonlyMap<string, string>
}

export const EditorContext = createContext<(Editor & Advice) | null>(null)
export const useEditor = (): Editor & Advice => useContext(EditorContext)!

/** Flags a field as long as what stands in it can't be sent. */
export function useFlag(path: string, wrong: string | null): void {
  const { flag } = useEditor()
  useEffect(() => flag(path, wrong), [flag, path, wrong])
  useEffect(() => () => flag(path, null), [flag, path])
}
