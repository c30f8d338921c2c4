/** What may be left to the server: resources, and for an image its address. */
import { NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import '@mantine/core/styles/NumberInput.css'
import type { Resource } from './draft.ts'
import type { FieldsProps } from './fields.ts'

const RESOURCES: { name: Resource; label: string; about: string; cores?: boolean }[] = [
  { name: 'minScale', label: 'Replicas, least', about: 'default: 1' },
  { name: 'maxScale', label: 'Replicas, most', about: 'default: 1' },
  { name: 'cpu', label: 'CPU', about: '0.1 to 8 cores', cores: true },
  { name: 'memoryMb', label: 'Memory, MB', about: 'of each replica' },
]

export function MoreFields({ draft, onChange, wrong }: FieldsProps) {
  const { resources } = draft
  const change = (name: Resource, value: number | string) => {
    const { [name]: _, ...others } = resources
    onChange({ resources: value === '' ? others : { ...others, [name]: Number(value) } })
  }
  return (
    <Stack gap="xs" component="fieldset" bd="none" p={0} m={0}>
      <Text component="legend" size="sm" fw={500}>
        Resources
      </Text>
      <Text size="xs" c="dimmed">
        What is left empty has its default. Limits and all the rest are in the settings, at any time.
      </Text>
      <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm">
        {RESOURCES.map(({ name, label, about, cores }) => (
          <NumberInput
            key={name}
            label={label}
            description={about}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            value={resources[name] ?? ''}
            error={wrong[name]}
            onChange={(value) => change(name, value)}
            allowDecimal={cores === true}
            decimalScale={1}
            step={cores ? 0.1 : 1}
            allowNegative={false}
          />
        ))}
      </SimpleGrid>
      {wrong.resourceSpec && (
        <Text size="xs" c="red" role="alert">
          {wrong.resourceSpec}
        </Text>
      )}
      {draft.from === 'image' && (
        <TextInput
          label="Address"
          description="Where it is reached, if something of yours leads there: an http(s) URL."
          placeholder="the runtime’s own"
          value={draft.customUrl}
          error={wrong.customUrl}
          onChange={({ currentTarget }) => onChange({ customUrl: currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </Stack>
  )
}
