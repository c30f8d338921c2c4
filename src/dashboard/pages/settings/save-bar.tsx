/** What is staged, in a line that stays in sight; before it is saved it is shown whole, with what comes of it. */
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
  /** What the server had against it, where it says so of a field. */
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
        // not over the bar
        position: 'top-right',
        title: 'Saved',
        message: revision ? `Revision #${revision.number} is on its way.` : `${settings.name} is as you left it.`,
      })
    } else if (result.outcome === 'conflict') {
      setMessage(
        'Somebody else has saved meanwhile, so nothing was written. What is stored now is shown beside yours: look at it, then save again.',
      )
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
              {count === 1 ? 'One change' : `${count} changes`}, not saved
            </Text>
            <Text size="xs" c="dimmed" component="div">
              {conflictCount > 0 ? (
                `Somebody else has saved ${joinNames([...[...conflicts.paths].map(fieldLabel), ...conflicts.secrets])} meanwhile: say first whose is to stay.`
              ) : fieldErrors.size > 0 ? (
                `${joinNames([...fieldErrors.keys()].map(fieldLabel))} can’t be saved like this.`
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
      <Modal opened={opened} onClose={close} title={`What will change in ${settings.name}`} size="lg" centered>
        <Stack>
          <Review />
          {message && (
            <Alert color={conflictCount > 0 ? 'yellow' : 'red'} role="alert">
              {message}
            </Alert>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={close}>
              Not yet
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
