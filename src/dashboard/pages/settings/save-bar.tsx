/** The bar that summarises unsaved changes, and the dialog that reviews and saves them. */
import { Button, Group, Paper, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { DialogButton } from '../../components/action-menu.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { secretName } from './edits.ts'
import { findField, fullLabel } from './fields.ts'
import { effectLines, Review } from './review.tsx'
import classes from './settings-page.module.css'
import { useEditor } from './use-editor.ts'
import { useSave } from './use-save.ts'

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
