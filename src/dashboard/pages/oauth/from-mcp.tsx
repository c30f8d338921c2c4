/** Creates a provider from an MCP server: our server reads its metadata and registers a client. */
import { Modal, TextInput } from '@mantine/core'
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { asFieldError, fieldError, formError, type Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'

const discoverMutation = graphql(
  `
  mutation DiscoverMcpProvider($input: DiscoverMcpProviderInput!) {
    discoverMcpProvider(input: $input) {
      __typename
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

const FIELDS = [
  { field: 'mcpServerUrl', label: 'MCP endpoint URL', placeholder: 'https://mcp.example.com/mcp' },
  { field: 'name', label: 'Name', placeholder: 'Acme' },
  { field: 'providerId', label: 'Id', placeholder: 'acme', description: 'Used in API calls. Can’t be changed.' },
] as const

const EMPTY_FORM = { mcpServerUrl: '', name: '', providerId: '' }

export function FromMcp({ opened, onClose }: { opened: boolean; onClose(): void }) {
  const [input, setInput] = useState(EMPTY_FORM)
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [write, busy] = useWrite(discoverMutation)
  const close = () => {
    setInput(EMPTY_FORM)
    setWrong(null)
    onClose()
  }
  const submit = async () => {
    const outcome = await write({ input })
    if (outcome.ok) close()
    else setWrong(asFieldError('providerId', outcome.problem))
  }
  const said = formError(
    wrong,
    FIELDS.map(({ field }) => field),
  )
  return (
    <Modal opened={opened} onClose={close} title="From an MCP server" centered>
      <DialogForm busy={busy} wrong={wrong} said={said} verb="Register client" onCancel={close} onSubmit={submit}>
        {FIELDS.map(({ field, ...how }) => (
          <TextInput
            key={field}
            {...how}
            value={input[field]}
            onChange={({ currentTarget: { value } }) => setInput((before) => ({ ...before, [field]: value }))}
            error={fieldError(wrong, field)}
            required
            withAsterisk={false}
            data-autofocus={field === FIELDS[0].field || undefined}
          />
        ))}
      </DialogForm>
    </Modal>
  )
}
