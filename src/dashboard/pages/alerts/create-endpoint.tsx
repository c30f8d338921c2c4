/** The button and dialog that create a webhook endpoint and show its secret once. */
import { Code, NativeSelect, TagsInput, TextInput } from '@mantine/core'
import { graphql } from '../../api/graphql.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { CreateSecret, type SecretFormProps } from '../../components/create-secret.tsx'
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

export const CreateEndpoint = () => (
  <CreateSecret
    label="New endpoint"
    title="New webhook endpoint"
    what="secret"
    form={EndpointForm}
    help={() => (
      <>
        It is shown only once. Your receiver verifies the header <Code>webhook-signature</Code> with it. Slack does not
        need it.
      </>
    )}
  />
)

function EndpointForm({ onMade, onClose }: SecretFormProps) {
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
      onDone={({ secret }) => secret && onMade({ name: name.trim(), text: secret })}
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
