/** Wraps a field. An edited field shows its saved value and Undo; a conflict shows both values and the choice. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Field, fullLabel } from './fields.ts'
import { formatInput, inputOf } from './inputs.ts'
import classes from './settings-page.module.css'
import { useEditor } from './use-editor.ts'

export function EditState({ field, children }: { field: Field; children: ReactNode }) {
  const { settings, edits, conflicts, takeTheirs } = useEditor()
  const { name } = field
  const isEdited = name in edits
  const isConflict = conflicts.includes(name)
  const stored = isEdited && formatInput(field, inputOf(settings, field))
  // One element for all states: a remount would take the focus from the input.
  return (
    <div className={isEdited ? classes.edited : undefined} data-conflict={isConflict || undefined}>
      {children}
      {isConflict ? (
        <ConflictChoice target={name} label={fullLabel(field)}>
          Someone else saved <b>{stored}</b>. Your value is above.
        </ConflictChoice>
      ) : (
        isEdited && (
          <Text size="xs" mt={4} c="dimmed" lineClamp={2}>
            Saved: {stored}.{' '}
            <Anchor component="button" type="button" inherit onClick={() => takeTheirs(name)}>
              Undo
            </Anchor>
          </Text>
        )
      )}
    </div>
  )
}

interface ChoiceProps {
  /** the key of the edit */
  target: string
  label: string
  children: ReactNode
}

/** The choice between the reader's value and the value that another user saved. */
export function ConflictChoice({ target, label, children }: ChoiceProps) {
  const { keepMine, takeTheirs } = useEditor()
  return (
    <Stack gap={6} mt={6} role="alert">
      <Text size="sm">{children}</Text>
      <Group gap="xs">
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => takeTheirs(target)}
          aria-label={`Take theirs for ${label}`}
        >
          Take theirs
        </Button>
        <Button
          size="compact-xs"
          color="yellow.9"
          onClick={() => keepMine(target)}
          aria-label={`Keep mine for ${label}`}
        >
          Keep mine
        </Button>
      </Group>
    </Stack>
  )
}
