/** Saves staged changes. Fields and secrets go in one write and create one revision. Tags are a second write. */
import { useState } from 'react'
import { useClient } from 'urql'
import type { VariablesOf } from '../../api/graphql.ts'
import { createProblem, type Problem } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import { type Settings, setSecretsMutation, setTagsMutation, settingsQuery, updateMutation } from './documents.ts'
import type { Editor } from './editor.ts'
import { buildSaveRequest } from './save-request.ts'
import { findConflicts } from './staged-changes.ts'

/** `conflict`: another user saved first. Nothing was written, and the page shows the stored values. */
export type SaveResult =
  | { outcome: 'saved'; revision: { id: string; number: number } | null }
  | { outcome: 'conflict' }
  | { outcome: 'refused'; problem: Problem }

/** Attempts to save secrets alone while other users save other things. */
const MAX_ATTEMPTS = 4

type WriteResult =
  | {
      ok: true
      value: { deployment: Pick<Settings, 'version'>; revision?: { id: string; number: number } | null }
    }
  | { ok: false; problem: Problem }

export function useSave(): [save: (editor: Editor) => Promise<SaveResult>, busy: boolean] {
  const client = useClient()
  const [update] = useWrite(updateMutation)
  const [setSecrets] = useWrite(setSecretsMutation)
  const [setTags] = useWrite(setTagsMutation)
  const [busy, setBusy] = useState(false)

  async function reload(id: string): Promise<Settings | null> {
    const { data } = await client.query(settingsQuery, { id }, { requestPolicy: 'network-only' }).toPromise()
    return data?.deployment ?? null
  }

  /** Sends one write, conditional on the known version. */
  async function write(settings: Settings, { staged }: Editor): Promise<WriteResult | null> {
    const plan = buildSaveRequest(settings, staged)
    const target = { deploymentId: settings.id, ifVersion: settings.version }
    if (plan.update)
      return (await update({ input: { ...target, ...plan.update } } as VariablesOf<
        typeof updateMutation
      >)) as WriteResult
    if (plan.secrets) return (await setSecrets({ input: { ...target, ...plan.secrets } })) as WriteResult
    return null
  }

  async function saveAll(editor: Editor): Promise<SaveResult> {
    let settings = editor.settings
    let written: WriteResult | null
    for (let attempt = 1; ; attempt++) {
      written = await write(settings, editor)
      if (!written || written.ok) break
      if (written.problem.code !== 'PRECONDITION_FAILED') return { outcome: 'refused', problem: written.problem }
      const now = await reload(settings.id)
      if (!now) return { outcome: 'refused', problem: createProblem('NOT_FOUND', 'The deployment no longer exists.') }
      // secrets saved alone conflict only with edits of the same secrets
      const { staged } = editor
      const hasConflict = staged.edits.size > 0 || findConflicts(now, staged).secrets.size > 0
      if (hasConflict || attempt === MAX_ATTEMPTS) return { outcome: 'conflict' }
      settings = now
    }
    editor.clear((path) => path !== 'tags')
    const { tags } = buildSaveRequest(settings, editor.staged)
    const value = written?.ok ? written.value : null
    const version = value?.deployment.version ?? settings.version
    if (tags) {
      const outcome = await setTags({ input: { deploymentId: settings.id, ifVersion: version, tags } })
      if (!outcome.ok) {
        if (outcome.problem.code !== 'PRECONDITION_FAILED') return { outcome: 'refused', problem: outcome.problem }
        await reload(settings.id)
        return { outcome: 'conflict' }
      }
      editor.clear()
    }
    return { outcome: 'saved', revision: value?.revision ?? null }
  }

  async function save(editor: Editor): Promise<SaveResult> {
    setBusy(true)
    editor.setSaving(true)
    try {
      return await saveAll(editor)
    } finally {
      editor.setSaving(false)
      setBusy(false)
    }
  }
  return [save, busy]
}
