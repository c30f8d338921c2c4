/** The resources section. Empty fields show their effective value in grey. */
import { Accordion, Alert, SimpleGrid, Stack, Text } from '@mantine/core'
import { FieldInput } from './field-input.tsx'
import { CLUSTER_FIELDS, type Field, RESOURCE_GROUPS, SPEC_PATH, UNUSED_FIELDS } from './fields.ts'
import { storedValue } from './inputs.ts'
import { Section } from './section.tsx'
import { useEditor } from './use-editor.ts'

export function ResourcesSection() {
  const { settings, edits, issues } = useEditor()
  const general = issues.get(SPEC_PATH)
  const isSet = ({ name, path }: Field) => storedValue(settings, path) !== null || name in edits
  const open = [...(CLUSTER_FIELDS.some(isSet) ? ['cluster'] : []), ...(UNUSED_FIELDS.some(isSet) ? ['unused'] : [])]
  return (
    <Section
      id="resources"
      title="Resources"
      about="Changes apply immediately, without a new revision. CPU takes one decimal, all other fields whole numbers. Empty fields use the value in grey."
    >
      {general && (
        <Alert color="red" role="alert">
          {general}
        </Alert>
      )}
      <Stack gap="xl">
        {RESOURCE_GROUPS.map(({ title, about, fields }) => (
          <Stack gap="xs" key={title} component="fieldset" bd="none" p={0} m={0}>
            <Text component="legend" fw={600} size="sm">
              {title}{' '}
              <Text span c="dimmed" size="sm" fw={400}>
                {about}
              </Text>
            </Text>
            <Fields fields={fields} />
          </Stack>
        ))}
      </Stack>
      <Accordion multiple defaultValue={open} variant="contained">
        <Accordion.Item value="cluster">
          <Accordion.Control>Kubernetes: labels, volumes, sidecars</Accordion.Control>
          <Accordion.Panel>
            <Fields fields={CLUSTER_FIELDS} areWide />
          </Accordion.Panel>
        </Accordion.Item>
        <Accordion.Item value="unused">
          <Accordion.Control>Unused: orchestrator and executor</Accordion.Control>
          <Accordion.Panel>
            <Text size="sm" c="dimmed" mb="md">
              These values are stored but have no effect.
            </Text>
            <Fields fields={UNUSED_FIELDS} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Section>
  )
}

interface FieldsProps {
  fields: readonly Field[]
  /** two columns instead of six */
  areWide?: boolean
}

export const Fields = ({ fields, areWide }: FieldsProps) => (
  <SimpleGrid cols={areWide ? { base: 1, md: 2 } : { base: 2, sm: 3, lg: 6 }} spacing={areWide ? 'lg' : 'md'}>
    {fields.map((field) => (
      <FieldInput key={field.name} field={field} />
    ))}
  </SimpleGrid>
)
