/** The form for a new API key: name, role and expiry. */
import { Checkbox, NativeSelect, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import type { VariablesOf } from '../../api/graphql.ts'
import { fieldError, formError, type Problem, problemOf } from '../../api/problem.ts'
import { useUncachedWrite } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'
import { useMe } from '../../components/me.tsx'
import { createKeyMutation, listenersQuery } from './documents.ts'

type Input = VariablesOf<typeof createKeyMutation>['input']
type Role = Input['role']

const ROLES: { value: Role; label: string }[] = [
  { value: 'viewer', label: 'viewer: reads' },
  { value: 'deployer', label: 'deployer: deploys, too' },
  { value: 'admin', label: 'admin: everything' },
  { value: 'listener', label: 'listener: the work of one listener' },
  { value: 'agent', label: 'agent: the access tokens of one agent' },
  { value: 'builder', label: 'builder: builds images for the servers' },
]
const DAYS = [
  { value: '7', label: 'in 7 days' },
  { value: '30', label: 'in 30 days' },
  { value: '90', label: 'in 90 days' },
  { value: '365', label: 'in a year' },
  { value: '', label: 'never' },
]
const DAY_MS = 86_400_000

interface KeyFormProps {
  onMade(made: { name: string; text: string }): void
  onCancel(): void
}

export function KeyForm({ onMade, onCancel }: KeyFormProps) {
  const me = useMe()
  // the list reloads by the event log
  const [write, busy] = useUncachedWrite(createKeyMutation)
  const [name, setName] = useState('')
  const [owner, setOwner] = useState('')
  const [role, setRole] = useState<Role>('deployer')
  const [days, setDays] = useState('90')
  const [secretsRead, setSecretsRead] = useState(false)
  const [organizationWide, setOrganizationWide] = useState(false)
  const [listenerId, setListenerId] = useState('')
  const [agentId, setAgentId] = useState('')
  const [wrong, setWrong] = useState<Problem | null>(null)
  const isBound = role === 'listener' || role === 'agent'
  const readsSecrets = !isBound && role !== 'builder' && role !== 'admin'

  const create = async () => {
    const input: Input = {
      name: name.trim(),
      owner: owner.trim() || null,
      role,
      expiresAt: days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString(),
      listenerId: role === 'listener' ? listenerId : null,
      agentId: role === 'agent' ? agentId : null,
      secretsRead: readsSecrets && secretsRead,
      organizationWide: !isBound && organizationWide,
    }
    const outcome = await write({ input })
    if (!outcome.ok) return setWrong(outcome.problem)
    const { key } = outcome.value
    if (key) onMade({ name: input.name, text: key })
  }

  return (
    <DialogForm
      busy={busy}
      wrong={wrong}
      said={formError(wrong, ['name', 'owner', 'agentId'])}
      verb="Create"
      disabled={name.trim() === ''}
      onCancel={onCancel}
      onSubmit={create}
    >
      <TextInput
        label="Name"
        description="The program that uses the key."
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
        error={fieldError(wrong, 'name')}
        maxLength={128}
        required
        data-autofocus
      />
      <TextInput
        label="Owner"
        description="The person or team that uses it. Changes made with the key show this name."
        value={owner}
        onChange={({ currentTarget }) => setOwner(currentTarget.value)}
        error={fieldError(wrong, 'owner')}
        maxLength={128}
      />
      <NativeSelect
        label="Role"
        data={ROLES}
        value={role}
        onChange={({ currentTarget }) => setRole(currentTarget.value as Role)}
      />
      {role === 'listener' && <ListenerSelect value={listenerId} onChange={setListenerId} />}
      {role === 'agent' && (
        <TextInput
          label="Agent"
          description="What the agent calls itself."
          value={agentId}
          onChange={({ currentTarget }) => setAgentId(currentTarget.value)}
          error={fieldError(wrong, 'agentId')}
          required
        />
      )}
      <NativeSelect
        label="Expires"
        data={DAYS}
        value={days}
        onChange={({ currentTarget }) => setDays(currentTarget.value)}
      />
      {readsSecrets && (
        <Checkbox
          label="Can read secret values"
          checked={secretsRead}
          onChange={({ currentTarget }) => setSecretsRead(currentTarget.checked)}
        />
      )}
      {!isBound && me?.organizationWide && (
        <Checkbox
          label="All workspaces of the organization"
          checked={organizationWide}
          onChange={({ currentTarget }) => setOrganizationWide(currentTarget.checked)}
        />
      )}
    </DialogForm>
  )
}

function ListenerSelect({ value, onChange }: { value: string; onChange(id: string): void }) {
  const [{ data, error }] = useQuery({ query: listenersQuery })
  const listeners = data?.listeners.nodes ?? []
  const none = data && listeners.length === 0 ? 'No listeners in this workspace.' : null
  return (
    <NativeSelect
      label="Listener"
      required
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
      data={[
        { value: '', label: 'Choose one', disabled: true },
        ...listeners.map(({ id, computeId }) => ({ value: id, label: computeId })),
      ]}
      error={error ? problemOf(error).message : none}
    />
  )
}
