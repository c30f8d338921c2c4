/** Sections with rows of text fields: secret references and tags. */
import { ActionIcon, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { INPUT_FIELDS } from '../../components/input-fields.ts'
import { EditState } from './edit-state.tsx'
import { findField } from './fields.ts'
import type { Row } from './inputs.ts'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

interface RowsProps {
  id: string
  about: string
  /** the field's name */
  name: string
  /** the type of a row */
  input: string
  /** label and example of each column */
  columns: Record<string, readonly [label: string, placeholder: string]>
  /** singular, for labels and buttons */
  itemName: string
}

function Rows({ id, about, name, input, columns, itemName }: RowsProps) {
  const { inputOf, edit, canEdit, errors, issues } = useEditor()
  const field = findField(name)!
  const rows = inputOf(field) as Row[]
  const error = errors.get(name) ?? issues.get(name)
  return (
    <Section id={id} title={field.label} about={about}>
      <EditState field={field}>
        <Stack gap="xs">
          {rows.length === 0 && (
            <Text size="sm" c="dimmed">
              No {itemName}s yet.
            </Text>
          )}
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity except its position
            <Group key={i} gap="xs" wrap="wrap" align="flex-end">
              {Object.entries(columns).map(([key, [label, placeholder]]) => (
                <TextInput
                  key={key}
                  aria-label={`${label} of ${itemName} ${i + 1}`}
                  label={i === 0 ? label : undefined}
                  placeholder={placeholder}
                  value={row[key]}
                  readOnly={!canEdit}
                  maxLength={INPUT_FIELDS[input]![key]!.maxLength}
                  onChange={({ currentTarget }) => edit(name, rows.with(i, { ...row, [key]: currentTarget.value }))}
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
                  onClick={() => edit(name, rows.toSpliced(i, 1))}
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
          onClick={() => edit(name, [...rows, Object.fromEntries(Object.keys(columns).map((key) => [key, '']))])}
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
    about="Environment variables from existing secrets in the deployment’s namespace, at most 1,000. Changes apply immediately, without a new revision."
    name="secretReferences"
    input="SecretReferenceInput"
    itemName="reference"
    columns={{
      name: ['Variable', 'DATABASE_PASSWORD'],
      secretName: ['Secret', 'database'],
      secretKey: ['Key', 'password'],
    }}
  />
)

export const TagsSection = () => (
  <Rows
    id="tags"
    about="For search and filters, at most 50. Tags don’t change what runs."
    name="tags"
    input="DeploymentTagInput"
    itemName="tag"
    columns={{ key: ['Key', 'team'], value: ['Value', 'support'] }}
  />
)
