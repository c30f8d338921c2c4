/** The button and dialog that create a webhook endpoint and show its secret once. The page does not keep it. */
import { Button, Code, Group, Modal, NativeSelect, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { CopyBlock } from '../../components/copy.tsx'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'

const createMutation = graphql(`
  mutation CreateWebhookEndpoint($input: CreateWebhookEndpointInput!) {
    createWebhookEndpoint(input: $input) {
      __typename
      ... on CreateWebhookEndpointSuccess {
        webhookEndpoint {
          id
        }
        secret
      }
    }
  }
`)

const FORMS = [
  { value: 'standard', label: 'Signed JSON (Standard Webhooks)' },
  { value: 'slack', label: 'Slack' },
] as const
type WebhookForm = (typeof FORMS)[number]['value']
const EVENTS = ['alert.*', 'rollout.failed', 'revision.deployed', 'rollout.*', 'deployment.*', '*']

export function CreateEndpoint() {
  const [opened, { open, close }] = useDisclosure()
  const [secret, setSecret] = useState<string | null>(null)
  const isForm = secret === null
  return (
    <>
      <Button size="xs" leftSection={<IconPlus size={16} />} onClick={open}>
        New endpoint
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        onExitTransitionEnd={() => setSecret(null)}
        title={isForm ? 'New webhook endpoint' : 'Copy this secret'}
        centered
        // a click outside must not close the dialog: the secret can't be shown again
        closeOnClickOutside={isForm}
        closeOnEscape={isForm}
        withCloseButton={isForm}
      >
        {secret ? <Secret text={secret} onClose={close} /> : <EndpointForm onMade={setSecret} onClose={close} />}
      </Modal>
    </>
  )
}

function Secret({ text, onClose }: { text: string; onClose(): void }) {
  return (
    <Stack>
      <Text size="sm">
        It is shown only once. Your receiver verifies the header <Code>webhook-signature</Code> with it. Slack does not
        need it.
      </Text>
      <CopyBlock text={text} what="the secret" />
      <Group justify="flex-end">
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Stack>
  )
}

function EndpointForm({ onMade, onClose }: { onMade(secret: string): void; onClose(): void }) {
  const [write] = useUncachedWrite(createMutation)
  const fields = useFields('CreateWebhookEndpointInput', {
    initialValues: {
      name: '',
      url: '',
      form: 'standard' as WebhookForm,
      eventTypes: ['alert.*', 'rollout.failed', 'revision.deployed'],
    },
  })
  const { name, url, form, eventTypes } = fields.values
  return (
    <DialogForm
      verb="Create"
      fields={fields}
      disabled={name.trim() === '' || url.trim() === '' || eventTypes.length === 0}
      onSubmit={() => write({ input: { name: name.trim(), url: url.trim(), form, eventTypes } })}
      onDone={({ secret }) => secret && onMade(secret)}
      onClose={onClose}
    >
      <TextInput label="Name" {...fields.getInputProps('name')} required withAsterisk={false} data-autofocus />
      <NativeSelect label="Form" data={FORMS} {...fields.getInputProps('form')} />
      <TextInput
        label="URL"
        placeholder={form === 'slack' ? 'https://hooks.slack.com/services/…' : 'https://hooks.example.com/pilothouse'}
        {...fields.getInputProps('url')}
        required
        withAsterisk={false}
      />
      <TagsInput label="Events" data={EVENTS} splitChars={[',', ' ']} {...fields.getInputProps('eventTypes')} />
    </DialogForm>
  )
}
