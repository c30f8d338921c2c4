/** The bar that summarises unsaved changes, and the dialog that reviews and saves them. */
import { Button, Group, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useClient } from 'urql'
import { createProblem, type Problem } from '../../api/problem.ts'
import { useCommand, useWrite } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { type Settings, setSecretsMutation, settingsQuery, updateMutation } from './documents.ts'
import { findConflicts, secretName } from './edits.ts'
import { findField, fullLabel } from './fields.ts'
import { effectLines, Review } from './review.tsx'
import { buildSaveRequest } from './save-request.ts'
import classes from './settings-page.module.css'
import { type Editor, useEditor } from './use-editor.ts'
import { placeIssue } from './use-resource-preview.ts'

const LIST = new Intl.ListFormat('en')
const labelsOf = (keys: Iterable<string>) =>
  LIST.format(Array.from(keys, (key) => secretName(key) ?? fullLabel(findField(key)!)))

export function SaveBar() {
  const editor = useEditor()
  const { settings, edits, conflicts, errors, canEdit } = editor
  const save = useSave(editor)
  const count = Object.keys(edits).length
  if (count === 0) return null
  const isBlocked = !canEdit || conflicts.length > 0 || errors.size > 0
  const state =
    conflicts.length > 0
      ? `Someone else saved ${labelsOf(conflicts)}. Choose which version to keep.`
      : errors.size > 0
        ? `Fix ${labelsOf(errors.keys())} before you save.`
        : effectLines(editor)
            .map(({ text }) => text)
            .join(' ')
  return (
    <Paper withBorder shadow="md" p="sm" radius="md" className={classes.bar} role="region" aria-label="Unsaved changes">
      <Group justify="space-between" gap="sm">
        <Stack gap={0}>
          <Text fw={600} size="sm">
            {count} unsaved {count === 1 ? 'change' : 'changes'}
          </Text>
          <Text size="xs" c="dimmed" component="div">
            {state}
          </Text>
        </Stack>
        <Group gap="xs">
          <Button variant="default" onClick={() => editor.clear()}>
            Discard
          </Button>
          <DialogButton
            disabled={isBlocked}
            dialog={{
              title: `Review changes to ${settings.name}`,
              size: 'lg',
              content: (close) => (
                <DialogForm
                  verb="Save"
                  disabled={isBlocked}
                  conflictText="Someone else saved first, so your changes were not saved. Review both versions, then save again."
                  onSubmit={save}
                  onDone={(revision) => {
                    close()
                    notifications.show({
                      color: 'teal',
                      // the default position covers the bar
                      position: 'top-right',
                      title: 'Saved',
                      message: revision
                        ? `Revision #${revision.number} is rolling out.`
                        : `${settings.name} is up to date.`,
                    })
                  }}
                  onClose={close}
                >
                  <Review />
                </DialogForm>
              ),
            }}
          >
            Review and save…
          </DialogButton>
        </Group>
      </Group>
    </Paper>
  )
}

type Revision = { id: string; number: number } | null

/** PRECONDITION_FAILED: another user saved first. Nothing was written, and the page shows the stored values. */
type SaveOutcome = { ok: true; value: Revision } | { ok: false; problem: Problem }

type Write =
  | { ok: true; value: { deployment: Pick<Settings, 'version'>; revision?: Revision } }
  | { ok: false; problem: Problem }

/** Attempts to save secrets alone while other users save other things. */
const MAX_ATTEMPTS = 4

/** Saves the edits. Fields and secrets go in one write and create one revision. Tags are a second write. */
function useSave({ settings, edits, clear, refuse, setSaving }: Editor): () => Promise<SaveOutcome> {
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
