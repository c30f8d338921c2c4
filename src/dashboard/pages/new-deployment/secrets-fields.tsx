/** Secrets of the new deployment. */
import { ActionIcon, Button, Group, Input, Stack, Text, TextInput } from '@mantine/core'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import { useRef } from 'react'
import type { FieldsProps } from './fields.ts'

export function SecretsFields({ draft: { secrets }, onChange, errors }: FieldsProps) {
  const next = useRef(1)
  const change = (id: number, part: { name?: string; value?: string }) =>
    onChange({ secrets: secrets.map((secret) => (secret.id === id ? { ...secret, ...part } : secret)) })
  return (
    <Stack gap="xs">
      <div>
        <Text size="sm" fw={500}>
          Secrets
        </Text>
        <Text size="xs" c="dimmed">
          Environment variables for the agent. Stored encrypted, and masked after you create the deployment.
        </Text>
      </div>
      {secrets.map(({ id, name, value }, i) => (
        <Group key={id} gap="xs" wrap="nowrap" align="flex-start">
          <TextInput
            aria-label={`Name of secret ${i + 1}`}
            placeholder="OPENAI_API_KEY"
            value={name}
            onChange={({ currentTarget }) => change(id, { name: currentTarget.value })}
            autoComplete="off"
            spellCheck={false}
            style={{ flex: 1 }}
          />
          <TextInput
            aria-label={`Value of secret ${i + 1}`}
            placeholder="value"
            type="password"
            value={value}
            onChange={({ currentTarget }) => change(id, { value: currentTarget.value })}
            autoComplete="new-password"
            style={{ flex: 1 }}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="input-sm"
            aria-label={`Remove secret ${i + 1}`}
            onClick={() => onChange({ secrets: secrets.filter((secret) => secret.id !== id) })}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ))}
      {errors.secrets && <Input.Error>{errors.secrets}</Input.Error>}
      <Button
        variant="subtle"
        size="xs"
        leftSection={<IconPlus size={14} />}
        style={{ alignSelf: 'flex-start' }}
        onClick={() => onChange({ secrets: [...secrets, { id: next.current++, name: '', value: '' }] })}
      >
        Add a secret
      </Button>
    </Stack>
  )
}
