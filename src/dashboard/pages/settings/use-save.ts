/** Saves the edits. Fields and secrets go in one write and create one revision. Tags are a second write. */
import { useClient } from 'urql'
import { createProblem, type Problem } from '../../api/problem.ts'
import { useCommand, useWrite } from '../../api/use-write.ts'
import { type Settings, setSecretsMutation, settingsQuery, updateMutation } from './documents.ts'
import { findConflicts, secretName } from './edits.ts'
import { buildSaveRequest } from './save-request.ts'
import type { Editor } from './use-editor.ts'
import { placeIssue } from './use-resource-preview.ts'

type Revision = { id: string; number: number } | null

/** PRECONDITION_FAILED: another user saved first. Nothing was written, and the page shows the stored values. */
export type SaveOutcome = { ok: true; value: Revision } | { ok: false; problem: Problem }

type Write =
  | { ok: true; value: { deployment: Pick<Settings, 'version'>; revision?: Revision } }
  | { ok: false; problem: Problem }

/** Attempts to save secrets alone while other users save other things. */
const MAX_ATTEMPTS = 4

export function useSave({ settings, edits, clear, refuse, setSaving }: Editor): () => Promise<SaveOutcome> {
  const client = useClient()
  const [update] = useWrite(updateMutation)
  const [setSecrets] = useWrite(setSecretsMutation)
  const [setTags] = useCommand('setDeploymentTags')
  const { id: deploymentId } = settings
  const request = buildSaveRequest(settings, edits)
  const isSecretsOnly = Object.keys(edits).every((key) => secretName(key) !== null)

  async function reload(): Promise<Settings | null> {
    const variables = { id: deploymentId }
    const { data } = await client.query(settingsQuery, variables, { requestPolicy: 'network-only' }).toPromise()
    return data?.deployment ?? null
  }

  /** Sends one write, conditional on the known version. */
  async function write(ifVersion: number): Promise<Write> {
    if (request.update) return update({ input: { deploymentId, ifVersion, ...request.update } })
    if (request.secrets) return setSecrets({ input: { deploymentId, ifVersion, ...request.secrets } })
    return { ok: true, value: { deployment: { version: ifVersion } } }
  }

  async function writeAll(): Promise<SaveOutcome> {
    let { version } = settings
    let written = await write(version)
    for (let attempt = 1; !written.ok && written.problem.code === 'PRECONDITION_FAILED'; attempt++) {
      const now = await reload()
      if (!now) return { ok: false, problem: createProblem('NOT_FOUND', 'The deployment no longer exists.') }
      // secrets saved alone conflict only with edits of the same secrets
      if (!isSecretsOnly || findConflicts(edits, now).length > 0 || attempt === MAX_ATTEMPTS) return written
      version = now.version
      written = await write(version)
    }
    if (!written.ok) return written
    const { deployment, revision = null } = written.value
    clear('tags')
    if (request.tags) {
      const tagged = await setTags({ deploymentId, ifVersion: deployment.version, tags: request.tags })
      if (tagged.ok || tagged.problem.code === 'PRECONDITION_FAILED') await reload()
      if (!tagged.ok) return tagged
      clear()
    }
    return { ok: true, value: revision }
  }

  return async () => {
    refuse(new Map())
    setSaving(true)
    const outcome = await writeAll()
    setSaving(false)
    if (!outcome.ok) refuse(new Map(outcome.problem.issues.map(({ path, message }) => placeOf(path, message))))
    return outcome
  }

  /** `path` starts with `input`. */
  function placeOf([, part, ...rest]: readonly string[], message: string): readonly [string, string] {
    const sent = (request.secrets?.set ?? request.update?.secrets ?? []) as { name: string }[]
    if (part !== 'set' && part !== 'secrets') return placeIssue({ path: [part!, ...rest], message })
    return [`secrets.${sent[Number(rest[0])]?.name}`, message]
  }
}
