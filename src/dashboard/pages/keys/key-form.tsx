/** The form for a new API key: name, role and expiry. */
import { Checkbox, NativeSelect, type NativeSelectProps, TextInput } from '@mantine/core'
import { useQuery } from 'urql'
import { graphql, type VariablesOf } from '../../api/graphql.ts'
import { problemOf } from '../../api/problem.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import type { SecretFormProps } from '../../components/create-secret.tsx'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'
import { RANKED_ROLES, useMe } from '../../components/me.ts'

const listenersQuery = graphql(`
  query ListenersForKeys {
    listeners(first: 100) {
      nodes {
        id
        computeId
      }
    }
  }
`)

const createKeyMutation = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      __typename
      ... on CreateApiKeySuccess {
        apiKey {
          id
        }
        key
      }
    }
  }
`)

type Role = VariablesOf<typeof createKeyMutation>['input']['role']

const ROLES: { value: Role; label: string }[] = [
  ...RANKED_ROLES,
  { value: 'listener', label: 'listener: the work of one listener' },
  { value: 'agent', label: 'agent: the access tokens of one agent' },
  { value: 'builder', label: 'builder: builds images for the servers' },
  { value: 'caller', label: 'caller: calls agents, and nothing else' },
]
const DAYS = [
  { value: '7', label: 'in 7 days' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: '', label: 'never' },
]
const DAY_MS = 86_400_000

export function KeyForm({ onMade, onClose }: SecretFormProps) {
  const me = useMe()
  // the list reloads by the event log
  const [write] = useUncachedWrite(createKeyMutation)
  const fields = useFields('CreateApiKeyInput', {
    initialValues: {
      name: '',
      owner: '',
      role: 'deployer' as Role,
      days: '90',
      secretsRead: false,
      organizationWide: false,
      listenerId: '',
      agentId: '',
    },
  })
  const { name, owner, role, days, secretsRead, organizationWide, listenerId, agentId } = fields.values
  const isBound = role === 'listener' || role === 'agent'
  const readsSecrets = role === 'viewer' || role === 'deployer'
  const create = () =>
    write({
      input: {
        name: name.trim(),
        owner: owner.trim() || null,
        role,
        expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
        listenerId: role === 'listener' ? listenerId : null,
        agentId: role === 'agent' ? agentId : null,
        secretsRead: readsSecrets && secretsRead,
        organizationWide: !isBound && organizationWide,
      },
    })

  return (
    <DialogForm
      verb="Create"
      fields={fields}
      disabled={name.trim() === ''}
      onSubmit={create}
      onDone={({ key }) => key && onMade({ name: name.trim(), text: key })}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The program that uses the key."
        {...fields.getInputProps('name')}
        required
        data-autofocus
      />
      <TextInput
        label="Owner"
        description="The person or team that uses it. Changes made with the key show this name."
        {...fields.getInputProps('owner')}
      />
      <NativeSelect label="Role" data={ROLES} {...fields.getInputProps('role')} />
      {role === 'listener' && <ListenerSelect {...fields.getInputProps('listenerId')} />}
      {role === 'agent' && (
        <TextInput
          label="Agent"
          description="What the agent calls itself."
          {...fields.getInputProps('agentId')}
          required
        />
      )}
      <NativeSelect label="Expires" data={DAYS} {...fields.getInputProps('days')} />
      {readsSecrets && (
        <Checkbox label="Can read secret values" {...fields.getInputProps('secretsRead', { type: 'checkbox' })} />
      )}
      {!isBound && me?.organizationWide && (
        <Checkbox
          label="All workspaces of the organization"
          {...fields.getInputProps('organizationWide', { type: 'checkbox' })}
        />
      )}
    </DialogForm>
  )
}

function ListenerSelect(props: NativeSelectProps) {
  const [{ data, error }] = useQuery({ query: listenersQuery })
  const listeners = data?.listeners.nodes ?? []
  const none = data && listeners.length === 0 ? 'No listeners in this workspace.' : null
  return (
    <NativeSelect
      {...props}
      label="Listener"
      required
      data={[
        { value: '', label: 'Choose one', disabled: true },
        ...listeners.map(({ id, computeId }) => ({ value: id, label: computeId })),
      ]}
      error={error ? problemOf(error).message : (none ?? props.error)}
    />
  )
}
