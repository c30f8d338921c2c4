/** Optional fields: resources, and the URL of an image deployment. */
import { NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import '@mantine/core/styles/NumberInput.css'
import type { Resource } from './draft.ts'
import type { FieldsProps } from './fields.ts'

const RESOURCES: { name: Resource; label: string; about: string; cores?: boolean }[] = [
  { name: 'minScale', label: 'Min replicas', about: 'default: 1' },
  { name: 'maxScale', label: 'Max replicas', about: 'default: 1' },
  { name: 'cpu', label: 'CPU', about: '0.1 to 8 cores', cores: true },
  { name: 'memoryMb', label: 'Memory (MB)', about: 'per replica' },
]

export function MoreFields({ draft, onChange, errors }: FieldsProps) {
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
        Empty fields use the defaults. You can change these and more in the settings later.
      </Text>
      <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm">
        {RESOURCES.map(({ name, label, about, cores }) => (
          <NumberInput
            key={name}
            label={label}
            description={about}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            value={resources[name] ?? ''}
            error={errors[name]}
            onChange={(value) => change(name, value)}
            allowDecimal={cores === true}
            decimalScale={1}
            step={cores ? 0.1 : 1}
            allowNegative={false}
          />
        ))}
      </SimpleGrid>
      {errors.resourceSpec && (
        <Text size="xs" c="red" role="alert">
          {errors.resourceSpec}
        </Text>
      )}
      {draft.from === 'image' && (
        <TextInput
          label="URL"
          description="The http(s) URL of the deployment, if you route traffic to it yourself."
          placeholder="assigned by the runtime"
          value={draft.customUrl}
          error={errors.customUrl}
          onChange={({ currentTarget }) => onChange({ customUrl: currentTarget.value })}
          autoComplete="off"
          spellCheck={false}
        />
      )}
    </Stack>
  )
}
