/** Saves what is staged: fields and secrets in one write, so that they make one revision; tags in another. */
import { useState } from 'react'
import { useClient } from 'urql'
import type { VariablesOf } from '../../api/graphql.ts'
import { type Problem, problem } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import { type Settings, setSecretsMutation, setTagsMutation, settingsQuery, updateMutation } from './documents.ts'
import type { Editor } from './editor.ts'
import { planOf } from './plan.ts'
import { conflictsOf } from './staged.ts'

/** `meanwhile`: somebody else has saved; nothing was written, and what is stored now is shown. */
export type Saved =
  | { is: 'saved'; revision: { id: string; number: number } | null }
  | { is: 'meanwhile' }
  | { is: 'refused'; problem: Problem }

/** How often secrets alone are sent again when others have edited something else. */
const ATTEMPTS = 4

type Written =
  | {
      ok: true
      value: { deployment: Pick<Settings, 'version'>; revision?: { id: string; number: number } | null }
    }
  | { ok: false; problem: Problem }

export function useSave(): [save: (editor: Editor) => Promise<Saved>, busy: boolean] {
  const client = useClient()
  const [update] = useWrite(updateMutation)
  const [setSecrets] = useWrite(setSecretsMutation)
  const [setTags] = useWrite(setTagsMutation)
  const [busy, setBusy] = useState(false)

  async function readAgain(id: string): Promise<Settings | null> {
    const { data } = await client.query(settingsQuery, { id }, { requestPolicy: 'network-only' }).toPromise()
    return data?.deployment ?? null
  }

  /** One write, for the version that is known. */
  async function write(settings: Settings, { staged }: Editor): Promise<Written | null> {
    const plan = planOf(settings, staged)
    const of = { deploymentId: settings.id, ifVersion: settings.version }
    if (plan.update)
      return (await update({ input: { ...of, ...plan.update } } as VariablesOf<typeof updateMutation>)) as Written
    if (plan.secrets) return (await setSecrets({ input: { ...of, ...plan.secrets } })) as Written
    return null
  }

  async function saveAll(editor: Editor): Promise<Saved> {
    let settings = editor.settings
    let written: Written | null
    for (let attempt = 1; ; attempt++) {
      written = await write(settings, editor)
      if (!written || written.ok) break
      if (written.problem.code !== 'PRECONDITION_FAILED') return { is: 'refused', problem: written.problem }
      const now = await readAgain(settings.id)
      if (!now) return { is: 'refused', problem: problem('NOT_FOUND', 'The deployment is not there any more.') }
      // of secrets alone each stands for itself: those of others stay
      const { staged } = editor
      const clash = staged.edits.size > 0 || conflictsOf(now, staged).secrets.size > 0
      if (clash || attempt === ATTEMPTS) return { is: 'meanwhile' }
      settings = now
    }
    editor.clear((path) => path !== 'tags')
    const { tags } = planOf(settings, editor.staged)
    const value = written?.ok ? written.value : null
    const version = value?.deployment.version ?? settings.version
    if (tags) {
      const outcome = await setTags({ input: { deploymentId: settings.id, ifVersion: version, tags } })
      if (!outcome.ok) {
        if (outcome.problem.code !== 'PRECONDITION_FAILED') return { is: 'refused', problem: outcome.problem }
        await readAgain(settings.id)
        return { is: 'meanwhile' }
      }
      editor.clear()
    }
    return { is: 'saved', revision: value?.revision ?? null }
  }

  async function save(editor: Editor): Promise<Saved> {
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
