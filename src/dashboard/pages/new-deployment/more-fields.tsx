/** The fields that all sources or several of them share: build settings, secrets and optional fields. */
import {
  ActionIcon,
  Button,
  Group,
  Input,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  type TextInputProps,
} from '@mantine/core'
import '@mantine/core/styles/NumberInput.css'
import { IconPlus, IconTrash } from '@tabler/icons-react'
import type { Fields } from '../../components/dialog-form.tsx'
import { INPUT_FIELDS } from '../../components/input-fields.ts'
import { boundsText, inMinutes } from '../../components/labels.ts'
import { useDefaultIdleMinutes } from '../../components/me.ts'
import { type Draft, sleeps } from './draft.ts'

/** The props of each part of the form. */
export interface PartProps {
  form: Fields<Draft>
}

/** A name, path or command: nothing that a browser completes or corrects. */
export const Field = (props: TextInputProps) => <TextInput autoComplete="off" spellCheck={false} {...props} />

export function BuildFields({ form }: PartProps) {
  return (
    <>
      <Field
        label="Graph configuration"
        description="Path to langgraph.json or graph.json. Without graphs: package.json, pyproject.toml, Procfile or Dockerfile."
        {...form.getInputProps('graphConfigPath')}
        required
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Field
          label="Install command"
          placeholder="detected from the lock file"
          {...form.getInputProps('installCommand')}
        />
        <Field label="Build command" placeholder="none" {...form.getInputProps('buildCommand')} />
      </SimpleGrid>
    </>
  )
}

export function SecretsFields({ form }: PartProps) {
  const { secrets } = form.values
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
      {secrets.map((_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a row has no identity except its position
        <Group key={i} gap="xs" wrap="nowrap" align="flex-start">
          <Field
            aria-label={`Name of secret ${i + 1}`}
            placeholder="OPENAI_API_KEY"
            {...form.getInputProps(`secrets.${i}.name`)}
            flex={1}
          />
          <Field
            aria-label={`Value of secret ${i + 1}`}
            placeholder="value"
            type="password"
            {...form.getInputProps(`secrets.${i}.value`)}
            autoComplete="new-password"
            flex={1}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            size="input-sm"
            aria-label={`Remove secret ${i + 1}`}
            onClick={() => form.removeListItem('secrets', i)}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </Group>
      ))}
      {form.errors.secrets && <Input.Error>{form.errors.secrets}</Input.Error>}
      <Button
        variant="subtle"
        size="xs"
        leftSection={<IconPlus size={14} />}
        style={{ alignSelf: 'flex-start' }}
        onClick={() => form.insertListItem('secrets', { name: '', value: '' })}
      >
        Add a secret
      </Button>
    </Stack>
  )
}

const { ResourceSpecInput: SPEC, CreateDeploymentInput: INPUT } = INPUT_FIELDS
const RESOURCES = {
  minScale: ['Min replicas', 'default: 1'],
  maxScale: ['Max replicas', 'default: 1'],
  cpu: ['CPU', boundsText(SPEC!.cpu!)],
  memoryMb: ['Memory (MB)', 'per replica'],
}
/** The label comes first, so that the inputs of a row stand side by side. */
const ORDER: ('label' | 'input' | 'description' | 'error')[] = ['label', 'input', 'description', 'error']

export function MoreFields({ form }: PartProps) {
  const { from, listenerId } = form.values
  const defaultIdleMinutes = useDefaultIdleMinutes(from === 'image' ? listenerId : null)
  const minutes = Number(form.values.idleMinutes) || defaultIdleMinutes
  return (
    <Stack gap="xs" component="fieldset" bd="none" p={0} m={0}>
      <Text component="legend" size="sm" fw={500}>
        Resources
      </Text>
      <Text size="xs" c="dimmed">
        Empty fields use the defaults. You can change these and more in the settings later.
      </Text>
      <SimpleGrid cols={{ base: 2, xs: 4 }} spacing="sm">
        {Object.entries(RESOURCES).map(([name, [label, description]]) => (
          <NumberInput
            key={name}
            label={label}
            description={
              name === 'minScale' && defaultIdleMinutes !== null ? `${description} · 0: sleeps when idle` : description
            }
            inputWrapperOrder={ORDER}
            {...form.getInputProps(`resources.${name}`)}
            allowDecimal={name === 'cpu'}
            decimalScale={1}
            step={name === 'cpu' ? 0.1 : 1}
            allowNegative={false}
          />
        ))}
      </SimpleGrid>
      {sleeps(form.values) && minutes !== null && (
        <NumberInput
          label="Minutes without requests"
          description={`The agent stops after ${inMinutes(minutes)} without requests. The next request waits while it starts. ${boundsText(INPUT!.idleMinutes!)}, default: ${defaultIdleMinutes}.`}
          inputWrapperOrder={ORDER}
          {...form.getInputProps('idleMinutes')}
          allowDecimal={false}
          allowNegative={false}
        />
      )}
      {form.errors.resources && (
        <Text size="xs" c="red" role="alert">
          {form.errors.resources}
        </Text>
      )}
      {from === 'image' && (
        <Field
          label="URL"
          description="The http(s) URL of the deployment, if you route traffic to it yourself."
          placeholder="assigned by the runtime"
          {...form.getInputProps('customUrl')}
        />
      )}
    </Stack>
  )
}
