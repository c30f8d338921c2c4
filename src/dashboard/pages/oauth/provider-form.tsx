/** The forms for a new or changed provider. */
import { Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import '@mantine/core/styles/PasswordInput.css'
import { useState } from 'react'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, type Fields, useFields } from '../../components/dialog-form.tsx'
import type { Provider } from './documents.ts'

const METHODS = [
  { value: 'client_secret_post', label: 'Client secret in the body' },
  { value: 'client_secret_basic', label: 'Client secret by HTTP Basic' },
  { value: 'none', label: 'None (public client)' },
] as const
type Method = (typeof METHODS)[number]['value']

const valuesOf = (provider: Provider | null) => ({
  name: provider?.name ?? '',
  providerId: provider?.providerId ?? '',
  authUrl: provider?.authUrl ?? '',
  tokenUrl: provider?.tokenUrl ?? '',
  clientId: provider?.clientId ?? '',
  clientSecret: '',
  usesPkce: provider?.usesPkce ?? true,
  tokenEndpointAuthMethod: provider?.tokenEndpointAuthMethod ?? ('client_secret_post' as Method),
})
type Values = ReturnType<typeof valuesOf>

const NAMES = [
  { field: 'name', label: 'Name', placeholder: 'Acme' },
  { field: 'providerId', label: 'Id', placeholder: 'acme', description: 'Used in API calls. Can’t be changed.' },
]
const MCP_FIELDS = [
  { field: 'mcpServerUrl', label: 'MCP endpoint URL', placeholder: 'https://mcp.example.com/mcp' },
  ...NAMES,
]
const TEXT_FIELDS = [
  ...NAMES,
  { field: 'authUrl', label: 'Authorization URL', placeholder: 'https://login.example.com/authorize' },
  { field: 'tokenUrl', label: 'Token URL', placeholder: 'https://login.example.com/token' },
  { field: 'clientId', label: 'Client id', placeholder: '' },
]

/** Only the changed fields, so that other users' changes stay. */
const changesOf = (values: Values, start: Values): Partial<Values> =>
  Object.fromEntries(Object.entries(values).filter(([field, value]) => value !== start[field as keyof Values]))

interface ProviderFormProps {
  /** null: creates a provider */
  provider: Provider | null
  onClose(): void
}

export function ProviderForm({ provider, onClose }: ProviderFormProps) {
  const [{ start, version }] = useState({ start: valuesOf(provider), version: provider?.version })
  const fields = useFields('CreateOAuthProviderInput', { initialValues: start })
  const { values } = fields
  const [create] = useCommand('createOAuthProvider')
  const [update] = useCommand('updateOAuthProvider')
  return (
    <DialogForm<unknown>
      verb={provider ? 'Save' : 'Create'}
      fields={fields}
      uniqueField="providerId"
      conflictText="Another user changed the provider. Save again to apply your changes; the other fields keep their new values."
      onSubmit={(conflicting) =>
        provider
          ? update({
              ...changesOf(values, start),
              providerId: provider.providerId,
              ifVersion: conflicting ?? version,
            })
          : create({ ...values, clientSecret: values.clientSecret || null })
      }
      onClose={onClose}
    >
      <TextFields texts={TEXT_FIELDS} fields={fields} disabled={provider ? 'providerId' : undefined} />
      <NativeSelect label="Client authentication" data={METHODS} {...fields.getInputProps('tokenEndpointAuthMethod')} />
      {values.tokenEndpointAuthMethod !== 'none' && (
        <PasswordInput
          label="Client secret"
          description={provider ? 'Empty: the stored one stays. An address elsewhere needs it again.' : undefined}
          autoComplete="off"
          {...fields.getInputProps('clientSecret')}
        />
      )}
      <Checkbox
        label="PKCE"
        description="A code is of use to this server alone. Nearly every provider takes it."
        {...fields.getInputProps('usesPkce', { type: 'checkbox' })}
      />
    </DialogForm>
  )
}

/** Creates a provider from an MCP server: our server reads its metadata and registers a client. */
export function FromMcp({ onClose }: { onClose(): void }) {
  const fields = useFields('DiscoverMcpProviderInput', {
    initialValues: { mcpServerUrl: '', name: '', providerId: '' },
  })
  const [discover] = useCommand('discoverMcpProvider')
  return (
    <DialogForm
      verb="Register client"
      fields={fields}
      uniqueField="providerId"
      onSubmit={() => discover(fields.values)}
      onClose={onClose}
    >
      <TextFields texts={MCP_FIELDS} fields={fields} />
    </DialogForm>
  )
}

interface TextFieldsProps {
  texts: readonly { field: string; label: string; placeholder: string; description?: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: any fields
  fields: Fields<any>
  /** the name of a field that can't be changed */
  disabled?: string
}

/** The first one gets the focus. */
const TextFields = ({ texts, fields, disabled }: TextFieldsProps) =>
  texts.map(({ field, ...rest }, i) => (
    <TextInput
      key={field}
      {...rest}
      {...fields.getInputProps(field)}
      disabled={field === disabled}
      required
      withAsterisk={false}
      data-autofocus={i === 0 || undefined}
    />
  ))
