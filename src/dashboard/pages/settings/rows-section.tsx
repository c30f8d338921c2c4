/** Sections with rows of text fields: secret references and tags. */
import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { EditState } from './edit-state.tsx'
import { useEditor, useFieldError } from './editor.ts'
import { Section } from './section.tsx'
import { currentValue } from './staged-changes.ts'

interface Column {
  key: string
  label: string
  placeholder: string
  /** characters */
  maxLength: number
}

interface RowsProps {
  id: string
  title: string
  about: ReactNode
  path: string
  columns: readonly Column[]
  /** singular, for labels and buttons */
  itemName: string
}

type Row = Record<string, string>

function Rows({ id, title, about, path, columns, itemName }: RowsProps) {
  const { settings, staged, canEdit, edit, issues, fieldErrors } = useEditor()
  const rows = (currentValue(settings, staged, path) ?? []) as Row[]
  const isIncomplete = rows.some((row) => columns.some(({ key }) => !row[key]))
  useFieldError(path, isIncomplete ? 'Fill in every field.' : null)
  const error = fieldErrors.get(path) ?? issues.get(path)
  const change = (at: number, row: Row | null) =>
    edit(
      path,
      rows.flatMap((before, i) => (i !== at ? [before] : row ? [row] : [])),
    )
  return (
    <Section id={id} title={title} about={about}>
      <EditState path={path}>
        <Stack gap="xs">
          {rows.length === 0 && (
            <Text size="sm" c="dimmed">
              No {itemName}s yet.
            </Text>
          )}
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity except its position
            <Group key={i} gap="xs" wrap="wrap" align="flex-end">
              {columns.map(({ key, label, placeholder, maxLength }) => (
                <TextInput
                  key={key}
                  aria-label={`${label} of ${itemName} ${i + 1}`}
                  label={i === 0 ? label : undefined}
                  placeholder={placeholder}
                  value={row[key] ?? ''}
                  readOnly={!canEdit}
                  maxLength={maxLength}
                  onChange={({ currentTarget }) => change(i, { ...row, [key]: currentTarget.value })}
                  spellCheck={false}
                  flex="1 1 140px"
                />
              ))}
              {canEdit && (
                <ActionIcon
                  variant="subtle"
                  color="red"
                  size={36}
                  aria-label={`Remove ${itemName} ${i + 1}`}
                  onClick={() => change(i, null)}
                >
                  <IconX size={16} />
                </ActionIcon>
              )}
            </Group>
          ))}
          {error && (
            <Text size="sm" c="red" role="alert">
              {error}
            </Text>
          )}
        </Stack>
      </EditState>
      {canEdit && (
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} />}
          style={{ alignSelf: 'flex-start' }}
          onClick={() => edit(path, [...rows, Object.fromEntries(columns.map(({ key }) => [key, '']))])}
        >
          Add a {itemName}
        </Button>
      )}
    </Section>
  )
}

export const ReferencesSection = () => (
  <Rows
    id="references"
    title="Secret references"
    about="Environment variables from existing secrets in the deployment’s namespace, at most 1,000. Changes apply immediately, without a new revision."
    path="secretReferences"
    itemName="reference"
    columns={[
      { key: 'name', label: 'Variable', placeholder: 'DATABASE_PASSWORD', maxLength: 256 },
      { key: 'secretName', label: 'Secret', placeholder: 'database', maxLength: 253 },
      { key: 'secretKey', label: 'Key', placeholder: 'password', maxLength: 253 },
    ]}
  />
)

export const TagsSection = () => (
  <Rows
    id="tags"
    title="Tags"
    about="For search and filters, at most 50. Tags don’t change what runs."
    path="tags"
    itemName="tag"
    columns={[
      { key: 'key', label: 'Key', placeholder: 'team', maxLength: 128 },
      { key: 'value', label: 'Value', placeholder: 'support', maxLength: 128 },
    ]}
  />
)
