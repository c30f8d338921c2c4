/** Creates a provider from an MCP server: our server reads its metadata and registers a client. */
import { TextInput } from '@mantine/core'
import { useCommand } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'

const FIELDS = [
  { field: 'mcpServerUrl', label: 'MCP endpoint URL', placeholder: 'https://mcp.example.com/mcp' },
  { field: 'name', label: 'Name', placeholder: 'Acme' },
  { field: 'providerId', label: 'Id', placeholder: 'acme', description: 'Used in API calls. Can’t be changed.' },
] as const

export function FromMcp({ onClose }: { onClose(): void }) {
  const fields = useFields('DiscoverMcpProviderInput', {
    initialValues: { mcpServerUrl: '', name: '', providerId: '' },
  })
  const discover = useCommand('discoverMcpProvider')
  return (
    <DialogForm
      verb="Register client"
      fields={fields}
      uniqueField="providerId"
      onSubmit={() => discover(fields.values)}
      onClose={onClose}
    >
      {FIELDS.map(({ field, ...texts }) => (
        <TextInput
          key={field}
          {...texts}
          {...fields.getInputProps(field)}
          required
          withAsterisk={false}
          data-autofocus={field === FIELDS[0].field || undefined}
        />
      ))}
    </DialogForm>
  )
}
