/** The bar that summarises unsaved changes, and the dialog that reviews and saves them. */
import { Alert, Button, Group, Modal, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useEditor } from './editor.ts'
import { fieldLabel } from './fields.ts'
import { EffectSummary, Review } from './review.tsx'
import classes from './settings-page.module.css'
import { isEmpty } from './staged-changes.ts'
import { useSave } from './use-save.ts'

const LIST = new Intl.ListFormat('en')
const joinNames = (names: readonly string[]) => LIST.format(names)

interface SaveBarProps {
  /** Gets the server's errors about single fields. */
  onRefused(issues: readonly { path: readonly string[]; message: string }[]): void
}

export function SaveBar({ onRefused }: SaveBarProps) {
  const editor = useEditor()
  const { settings, staged, conflicts, fieldErrors, canEdit } = editor
  const [save, busy] = useSave()
  const [opened, setOpened] = useState(false)
  const [message, setMessage] = useState<string | null>(null)
  if (isEmpty(staged) && fieldErrors.size === 0) return null
  const count = staged.edits.size + staged.secrets.size
  const conflictCount = conflicts.paths.size + conflicts.secrets.size

  const isBlocked = !canEdit || conflictCount > 0 || fieldErrors.size > 0

  const close = () => {
    setOpened(false)
    setMessage(null)
  }
  const confirm = async () => {
    setMessage(null)
    onRefused([])
    const result = await save(editor)
    if (result.outcome === 'saved') {
      close()
      const { revision } = result
      notifications.show({
        color: 'teal',
        // the default position covers the bar
        position: 'top-right',
        title: 'Saved',
        message: revision ? `Revision #${revision.number} is rolling out.` : `${settings.name} is up to date.`,
      })
    } else if (result.outcome === 'conflict') {
      setMessage('Someone else saved first, so your changes were not saved. Review both versions, then save again.')
    } else {
      onRefused(result.problem.issues)
      setMessage(result.problem.message)
    }
  }
  return (
    <>
      <Paper
        withBorder
        shadow="md"
        p="sm"
        radius="md"
        className={classes.bar}
        role="region"
        aria-label="Unsaved changes"
      >
        <Group justify="space-between" gap="sm">
          <Stack gap={0}>
            <Text fw={600} size="sm">
              {count} unsaved {count === 1 ? 'change' : 'changes'}
            </Text>
            <Text size="xs" c="dimmed" component="div">
              {conflictCount > 0 ? (
                `Someone else saved ${joinNames([...[...conflicts.paths].map(fieldLabel), ...conflicts.secrets])}. Choose which version to keep.`
              ) : fieldErrors.size > 0 ? (
                `Fix ${joinNames([...fieldErrors.keys()].map(fieldLabel))} before you save.`
              ) : (
                <EffectSummary />
              )}
            </Text>
          </Stack>
          <Group gap="xs">
            <Button variant="default" onClick={() => editor.clear()}>
              Discard
            </Button>
            <Button onClick={() => setOpened(true)} disabled={isBlocked}>
              Review and save…
            </Button>
          </Group>
        </Group>
      </Paper>
      <Modal opened={opened} onClose={close} title={`Review changes to ${settings.name}`} size="lg" centered>
        <Stack>
          <Review />
          {message && (
            <Alert color={conflictCount > 0 ? 'yellow' : 'red'} role="alert">
              {message}
            </Alert>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button loading={busy} onClick={() => void confirm()} disabled={isBlocked} data-autofocus>
              Save
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
