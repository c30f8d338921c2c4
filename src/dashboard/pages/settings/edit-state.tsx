/** Wraps a field. An edited field shows its saved value and Undo; a conflict shows both values and the choice. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type EditTarget, useEditor } from './editor.ts'
import { fieldLabel, findField } from './fields.ts'
import { formatValue } from './format-value.ts'
import classes from './settings-page.module.css'
import { storedValue } from './staged-changes.ts'

export function EditState({ path, children }: { path: string; children: ReactNode }) {
  const { settings, staged, conflicts, takeTheirs } = useEditor()
  const isEdited = staged.edits.has(path)
  const isConflict = conflicts.paths.has(path)
  const stored = isEdited ? formatValue(findField(path), storedValue(settings, path)) : ''
  // One element for all states: a remount would take the focus from the input.
  return (
    <div className={isConflict ? classes.conflict : isEdited ? classes.edited : undefined}>
      {children}
      {isConflict ? (
        <ConflictChoice target={{ path }} name={fieldLabel(path)}>
          Someone else saved <b>{stored}</b>. Your value is above.
        </ConflictChoice>
      ) : (
        isEdited && (
          <Text size="xs" mt={4} c="dimmed" lineClamp={2}>
            Saved: {stored}.{' '}
            <Anchor component="button" type="button" inherit onClick={() => takeTheirs({ path })}>
              Undo
            </Anchor>
          </Text>
        )
      )}
    </div>
  )
}

interface ChoiceProps {
  target: EditTarget
  name: string
  children: ReactNode
}

/** The choice between the reader's value and the value that another user saved. */
export function ConflictChoice({ target, name, children }: ChoiceProps) {
  const { keepMine, takeTheirs } = useEditor()
  return (
    <Stack gap={6} mt={6} role="alert">
      <Text size="sm">{children}</Text>
      <Group gap="xs">
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => takeTheirs(target)}
          aria-label={`Take theirs for ${name}`}
        >
          Take theirs
        </Button>
        <Button
          size="compact-xs"
          color="yellow.9"
          onClick={() => keepMine(target)}
          aria-label={`Keep mine for ${name}`}
        >
          Keep mine
        </Button>
      </Group>
    </Stack>
  )
}
