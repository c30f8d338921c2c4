/** The dialog that connects an account: provider, scopes and agent, then consent at the provider. */
import { Alert, Button, Group, Loader, Modal, NativeSelect, Stack, TagsInput, Text } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { fieldError, formError, type Problem } from '../../api/problem.ts'
import { useWrite, wrongFragment } from '../../api/use-write.ts'
import { DialogForm } from '../../components/form.tsx'
import { AgentField } from './agent-field.tsx'
import { providersQuery } from './documents.ts'
import { useConsent } from './use-consent.ts'

const authenticateMutation = graphql(
  `
  mutation Authenticate($input: AuthenticateInput!) {
    authenticate(input: $input) {
      __typename
      ... on AuthenticateSuccess {
        authorization {
          status
          authId
          url
        }
      }
      ...Wrong
    }
  }
`,
  [wrongFragment],
)

interface ConnectAccountProps {
  opened: boolean
  onClose(): void
  onConnected(): void
}

export function ConnectAccount({ opened, onClose, onConnected }: ConnectAccountProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Connect an account" centered>
      {opened && (
        <ConnectSteps
          onClose={onClose}
          onConnected={() => {
            onConnected()
            onClose()
          }}
        />
      )}
    </Modal>
  )
}

function ConnectSteps({ onClose, onConnected }: Omit<ConnectAccountProps, 'opened'>) {
  const [{ data }] = useQuery({ query: providersQuery, variables: { after: null } })
  const providers = data?.oauthProviders.nodes
  const [chosen, setChosen] = useState<string | null>(null)
  const [scopes, setScopes] = useState<string[]>([])
  const [agent, setAgent] = useState('')
  const [begun, setBegun] = useState<{ authId: string; url: string } | null>(null)
  const [wrong, setWrong] = useState<Problem | null>(null)
  const [write, busy] = useWrite(authenticateMutation)
  const provider = chosen ?? providers?.[0]?.providerId ?? ''

  const submit = async () => {
    const agentId = agent.trim() || null
    const outcome = await write({ input: { provider, scopes, agentId, forceNew: true } })
    if (!outcome.ok) return setWrong(outcome.problem)
    const { authId, url } = outcome.value.authorization
    if (authId && url) setBegun({ authId, url })
    else onConnected()
  }
  if (begun) return <Consent begun={begun} onConnected={onConnected} onClose={onClose} />
  if (providers?.length === 0)
    return <Text size="sm">There is no provider yet: an admin adds those of the organization, under “Providers”.</Text>
  return (
    <DialogForm
      busy={busy}
      wrong={wrong}
      said={formError(wrong, ['provider', 'scopes', 'agentId'])}
      verb="Continue"
      disabled={provider === ''}
      onCancel={onClose}
      onSubmit={submit}
    >
      <NativeSelect
        label="Provider"
        value={provider}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        error={fieldError(wrong, 'provider')}
        data-autofocus
        data={(providers ?? []).map(({ providerId, name }) => ({ value: providerId, label: name }))}
      />
      <TagsInput
        label="Scopes"
        description="What the agent may do with the account, in the provider’s words."
        placeholder={scopes.length === 0 ? 'mail.read' : ''}
        value={scopes}
        onChange={setScopes}
        error={fieldError(wrong, 'scopes')}
        splitChars={[',', ' ']}
        acceptValueOnBlur
      />
      <AgentField
        label="Agent"
        description="May use it as soon as you have consented. It can be named later, too."
        value={agent}
        onChange={setAgent}
        error={fieldError(wrong, 'agentId')}
      />
    </DialogForm>
  )
}

function Consent({
  begun: { authId, url },
  onConnected,
  onClose,
}: { begun: { authId: string; url: string } } & Omit<ConnectAccountProps, 'opened'>) {
  const wrong = useConsent(authId, onConnected)
  return (
    <Stack>
      <Text size="sm">
        Consent at the provider, in a page of its own. The address works once, for 15 minutes; this page notices when
        you are back.
      </Text>
      {wrong ? (
        <Alert color="red" role="alert">
          {wrong}
        </Alert>
      ) : (
        <Group gap="xs" c="dimmed" role="status">
          <Loader size="xs" aria-hidden />
          <Text size="sm">Waiting for your consent …</Text>
        </Group>
      )}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {wrong ? 'Close' : 'Cancel'}
        </Button>
        {!wrong && (
          <Button
            component="a"
            href={url}
            target="_blank"
            rel="noreferrer"
            rightSection={<IconExternalLink size={16} />}
            data-autofocus
          >
            Go to the provider
          </Button>
        )}
      </Group>
    </Stack>
  )
}
