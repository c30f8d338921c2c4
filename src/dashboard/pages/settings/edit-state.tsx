/** Below a field that was edited: what is stored, and the way back; or, where somebody else has saved meanwhile, both values and the choice. */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { describe } from './describe.ts'
import { useEditor, type Which } from './editor.ts'
import { fieldAt, nameOf } from './fields.ts'
import classes from './settings-page.module.css'
import { storedAt } from './staged.ts'

export function EditState({ path, children }: { path: string; children: ReactNode }) {
  const { settings, staged, conflicts, take } = useEditor()
  const isEdited = staged.edits.has(path)
  const isConflict = conflicts.edited.has(path)
  const stored = isEdited ? describe(fieldAt(path), storedAt(settings, path)) : ''
  // one element for all states: whoever is typing in it must not lose it
  return (
    <div className={isConflict ? classes.conflict : isEdited ? classes.edited : undefined}>
      {children}
      {isConflict ? (
        <Choice which={{ path }} name={nameOf(path)}>
          Somebody else has saved <b>{stored}</b> meanwhile. Yours is above.
        </Choice>
      ) : (
        isEdited && (
          <Text size="xs" mt={4} c="dimmed" lineClamp={2}>
            Was {stored}.{' '}
            <Anchor component="button" type="button" inherit onClick={() => take({ path })}>
              Undo
            </Anchor>
          </Text>
        )
      )}
    </div>
  )
}

interface ChoiceProps {
  which: Which
  name: string
  children: ReactNode
}

/** What becomes of mine. */
export function Choice({ which, name, children }: ChoiceProps) {
  const { keep, take } = useEditor()
  return (
    <Stack gap={6} mt={6} role="alert">
      <Text size="sm">{children}</Text>
      <Group gap="xs">
        <Button size="compact-xs" variant="default" onClick={() => take(which)} aria-label={`Take theirs for ${name}`}>
          Take theirs
        </Button>
        <Button size="compact-xs" color="yellow.9" onClick={() => keep(which)} aria-label={`Keep mine for ${name}`}>
          Keep mine
        </Button>
      </Group>
    </Stack>
  )
}
