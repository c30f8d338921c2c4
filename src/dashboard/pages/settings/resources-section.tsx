/** The resources section. Empty fields show their effective value in grey. */
import { Accordion, Alert, SimpleGrid, Stack, Text } from '@mantine/core'
import { useEditor } from './editor.ts'
import { FieldInput } from './field-input.tsx'
import { CLUSTER_FIELDS, type Field, RESOURCE_GROUPS, UNUSED_FIELDS } from './fields.ts'
import { Section } from './section.tsx'
import { storedValue } from './staged-changes.ts'

export function ResourcesSection() {
  const { settings, staged, issues } = useEditor()
  const general = issues.get('sourceConfig.resourceSpec')
  const isSet = ({ path }: Field) => storedValue(settings, path) !== null || staged.edits.has(path)
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
            <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="md">
              {fields.map((field) => (
                <FieldInput key={field.path} field={field} />
              ))}
            </SimpleGrid>
          </Stack>
        ))}
      </Stack>
      <Accordion multiple defaultValue={open} variant="contained">
        <Accordion.Item value="cluster">
          <Accordion.Control>Kubernetes: labels, volumes, sidecars</Accordion.Control>
          <Accordion.Panel>
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
              {CLUSTER_FIELDS.map((field) => (
                <FieldInput key={field.path} field={field} />
              ))}
            </SimpleGrid>
          </Accordion.Panel>
        </Accordion.Item>
        <Accordion.Item value="unused">
          <Accordion.Control>Unused: orchestrator and executor</Accordion.Control>
          <Accordion.Panel>
            <Text size="sm" c="dimmed" mb="md">
              These values are stored but have no effect.
            </Text>
            <SimpleGrid cols={{ base: 1, sm: 3, lg: 6 }} spacing="md">
              {UNUSED_FIELDS.map((field) => (
                <FieldInput key={field.path} field={field} />
              ))}
            </SimpleGrid>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </Section>
  )
}
