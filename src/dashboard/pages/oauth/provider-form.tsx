/** The form for a new or changed provider. */
import { Checkbox, Modal, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import '@mantine/core/styles/PasswordInput.css'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { asFieldError, fieldError, formError, type Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'
import type { Provider } from './documents.ts'

const createMutation = graphql(
  `
  mutation CreateOAuthProvider($input: CreateOAuthProviderInput!) {
    createOAuthProvider(input: $input) {
      __typename
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

const updateMutation = graphql(
  `
  mutation UpdateOAuthProvider($input: UpdateOAuthProviderInput!) {
    updateOAuthProvider(input: $input) {
      __typename
      ... on UpdateOAuthProviderSuccess {
        oauthProvider {
          id
          name
          authUrl
          tokenUrl
          clientId
          usesPkce
          tokenEndpointAuthMethod
          version
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

const METHODS = [
  { value: 'client_secret_post', label: 'Client secret in the body' },
  { value: 'client_secret_basic', label: 'Client secret by HTTP Basic' },
  { value: 'none', label: 'None (public client)' },
] as const
type Method = (typeof METHODS)[number]['value']

const draftOf = (provider: Provider | null) => ({
  name: provider?.name ?? '',
  providerId: provider?.providerId ?? '',
  authUrl: provider?.authUrl ?? '',
  tokenUrl: provider?.tokenUrl ?? '',
  clientId: provider?.clientId ?? '',
  clientSecret: '',
  usesPkce: provider?.usesPkce ?? true,
  tokenEndpointAuthMethod: provider?.tokenEndpointAuthMethod ?? ('client_secret_post' as Method),
})
type Draft = ReturnType<typeof draftOf>

const TEXT_FIELDS = [
  { field: 'name', label: 'Name', placeholder: 'Acme' },
  { field: 'providerId', label: 'Id', placeholder: 'acme', description: 'Used in API calls. Can’t be changed.' },
  { field: 'authUrl', label: 'Authorization URL', placeholder: 'https://login.example.com/authorize' },
  { field: 'tokenUrl', label: 'Token URL', placeholder: 'https://login.example.com/token' },
  { field: 'clientId', label: 'Client id', placeholder: '' },
] as const
const FORM_FIELDS = [...TEXT_FIELDS.map(({ field }) => field), 'clientSecret', 'usesPkce', 'tokenEndpointAuthMethod']

/** Only the changed fields, so that other users' changes stay. */
const changesOf = (draft: Draft, start: Draft): Partial<Draft> =>
  Object.fromEntries(Object.entries(draft).filter(([field, value]) => value !== start[field as keyof Draft]))

interface ProviderFormProps {
  opened: boolean
  onClose(): void
  /** null: creates a provider */
  provider: Provider | null
}

export function ProviderForm({ opened, onClose, provider }: ProviderFormProps) {
  return (
    <Modal opened={opened} onClose={onClose} title={provider ? `Change ${provider.name}` : 'New provider'} centered>
      <Fields key={String(opened)} onClose={onClose} provider={provider} />
    </Modal>
  )
}

function Fields({ onClose, provider }: Omit<ProviderFormProps, 'opened'>) {
  const [start] = useState(() => draftOf(provider))
  const [draft, setDraft] = useState<Draft>(start)
  const [version, setVersion] = useState(provider?.version ?? 0)
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [create, creating] = useWrite(createMutation)
  const [update, updating] = useWrite(updateMutation)
  const change = (part: Partial<Draft>) => setDraft((before) => ({ ...before, ...part }))
  const conflict = wrong?.code === 'PRECONDITION_FAILED'

  const submit = async () => {
    const outcome = provider
      ? await update({ input: { ...changesOf(draft, start), providerId: provider.providerId, ifVersion: version } })
      : await create({ input: { ...draft, clientSecret: draft.clientSecret || null } })
    if (outcome.ok) return onClose()
    setWrong(asFieldError('providerId', outcome.problem))
    setVersion(outcome.problem.version ?? version)
  }
  return (
    <DialogForm
      busy={creating || updating}
      wrong={wrong}
      said={
        conflict
          ? 'Another user changed the provider. Save again to apply your changes; the other fields keep their new values.'
          : formError(wrong, FORM_FIELDS)
      }
      isConflict={conflict}
      verb={provider ? 'Save' : 'Create'}
      onCancel={onClose}
      onSubmit={submit}
    >
      {TEXT_FIELDS.map(({ field, ...how }) => (
        <TextInput
          key={field}
          {...how}
          value={draft[field]}
          onChange={({ currentTarget }) => change({ [field]: currentTarget.value })}
          error={fieldError(wrong, field)}
          disabled={field === 'providerId' && provider !== null}
          required
          withAsterisk={false}
          data-autofocus={field === 'name' || undefined}
        />
      ))}
      <NativeSelect
        label="Client authentication"
        value={draft.tokenEndpointAuthMethod}
        onChange={({ currentTarget }) => change({ tokenEndpointAuthMethod: currentTarget.value as Method })}
        data={METHODS}
        error={fieldError(wrong, 'tokenEndpointAuthMethod')}
      />
      {draft.tokenEndpointAuthMethod !== 'none' && (
        <PasswordInput
          label="Client secret"
          description={provider ? 'Empty: the stored one stays. An address elsewhere needs it again.' : undefined}
          value={draft.clientSecret}
          onChange={({ currentTarget }) => change({ clientSecret: currentTarget.value })}
          error={fieldError(wrong, 'clientSecret')}
          autoComplete="off"
        />
      )}
      <Checkbox
        label="PKCE"
        description="A code is of use to this server alone. Nearly every provider takes it."
        checked={draft.usesPkce}
        onChange={({ currentTarget }) => change({ usesPkce: currentTarget.checked })}
      />
    </DialogForm>
  )
}
