/** What is staged, in a line that stays in sight; before it is saved it is shown whole, with what comes of it. */
import { Alert, Button, Group, Modal, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { useEditor } from './editor.ts'
import { nameOf } from './fields.ts'
import { Outcome, Review } from './review.tsx'
import classes from './settings-page.module.css'
import { isEmpty } from './staged.ts'
import { useSave } from './use-save.ts'

const LIST = new Intl.ListFormat('en')
const and = (names: readonly string[]) => LIST.format(names)

interface SaveBarProps {
  /** What the server had against it, where it says so of a field. */
  onRefused(issues: readonly { path: readonly string[]; message: string }[]): void
}

export function SaveBar({ onRefused }: SaveBarProps) {
  const editor = useEditor()
  const { settings, staged, conflicts, flags, canEdit } = editor
  const [save, busy] = useSave()
  const [opened, setOpened] = useState(false)
  const [said, setSaid] = useState<string | null>(null)
  if (isEmpty(staged) && flags.size === 0) return null
  const count = staged.edits.size + staged.secrets.size
  const clashes = conflicts.edited.size + conflicts.secrets.size

  const isBlocked = !canEdit || clashes > 0 || flags.size > 0

  const close = () => {
    setOpened(false)
    setSaid(null)
  }
  const confirm = async () => {
    setSaid(null)
    onRefused([])
    const outcome = await save(editor)
    if (outcome.is === 'saved') {
      close()
      const { revision } = outcome
      notifications.show({
        color: 'teal',
        // not over the bar
        position: 'top-right',
        title: 'Saved',
        message: revision ? `Revision #${revision.number} is on its way.` : `${settings.name} is as you left it.`,
      })
    } else if (outcome.is === 'meanwhile') {
      setSaid(
        'Somebody else has saved meanwhile, so nothing was written. What is stored now is shown beside yours: look at it, then save again.',
      )
    } else {
      onRefused(outcome.problem.issues)
      setSaid(outcome.problem.message)
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
              {clashes > 0 ? (
                `Somebody else has saved ${and([...[...conflicts.edited].map(nameOf), ...conflicts.secrets])} meanwhile: say first whose is to stay.`
              ) : flags.size > 0 ? (
                `${and([...flags.keys()].map(nameOf))} can’t be saved like this.`
              ) : (
                <Outcome />
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
          {said && (
            <Alert color={clashes > 0 ? 'yellow' : 'red'} role="alert">
              {said}
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
