/** The dialog that connects an account: provider, scopes and agent, then consent at the provider. Also the field of an agent. */
import {
  Alert,
  Autocomplete,
  type AutocompleteProps,
  Button,
  Group,
  Loader,
  NativeSelect,
  Stack,
  TagsInput,
  Text,
} from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { useApi } from '../../api/client.ts'
import { graphql } from '../../api/graphql.ts'
import { isTransient, problemOf } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import { DialogForm, useFields } from '../../components/dialog-form.tsx'
import { INPUT_FIELDS } from '../../components/input-fields.ts'
import { useHasRole } from '../../components/me.ts'
import { providersQuery } from './documents.ts'

const authenticateMutation = graphql(`
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
    }
  }
`)

const authorizationQuery = graphql(`
  query Authorization($id: ID!) {
    authorization(id: $id, timeoutSeconds: 20) {
      status
    }
  }
`)

interface ConnectAccountProps {
  onConnected(): void
  onClose(): void
}

export function ConnectAccount({ onConnected, onClose }: ConnectAccountProps) {
  const [{ data }] = useQuery({ query: providersQuery, variables: { after: null } })
  const providers = data?.oauthProviders.nodes
  const fields = useFields('AuthenticateInput', {
    initialValues: { provider: '', scopes: [] as string[], agentId: '' },
  })
  const [begun, setBegun] = useState<{ authId: string; url: string } | null>(null)
  const [write] = useWrite(authenticateMutation)
  const { scopes, agentId } = fields.values
  const provider = fields.values.provider || (providers?.[0]?.providerId ?? '')
  const end = () => {
    onConnected()
    onClose()
  }
  if (begun) return <Consent begun={begun} onConnected={end} onClose={onClose} />
  if (providers?.length === 0)
    return <Text size="sm">There is no provider yet: an admin adds those of the organization, under “Providers”.</Text>
  return (
    <DialogForm
      verb="Continue"
      fields={fields}
      disabled={provider === ''}
      onSubmit={() => write({ input: { provider, scopes, agentId: agentId.trim() || null, forceNew: true } })}
      onDone={({ authorization: { authId, url } }) => {
        if (authId && url) setBegun({ authId, url })
        else end()
      }}
      onClose={onClose}
    >
      <NativeSelect
        label="Provider"
        {...fields.getInputProps('provider')}
        value={provider}
        data-autofocus
        data={(providers ?? []).map(({ providerId, name }) => ({ value: providerId, label: name }))}
      />
      <TagsInput
        label="Scopes"
        description="What the agent may do with the account, in the provider’s words."
        placeholder={scopes.length === 0 ? 'mail.read' : ''}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        {...fields.getInputProps('scopes')}
      />
      <AgentField
        label="Agent"
        description="May use it as soon as you have consented. It can be named later, too."
        {...fields.getInputProps('agentId')}
      />
    </DialogForm>
  )
}

function Consent({
  begun: { authId, url },
  onConnected,
  onClose,
}: ConnectAccountProps & { begun: { authId: string; url: string } }) {
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

/** pause after an error, for example while the server is down */
const RETRY_MS = 2_000

/** Waits for the user's consent at the provider, by long poll. Returns the error for users; null while waiting. */
function useConsent(authId: string, onConnected: () => void): string | null {
  const { uncached } = useApi()
  const [wrong, setWrong] = useState<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the callback may change with each render
  useEffect(() => {
    let over = false
    const wait = async () => {
      while (!over) {
        const { data, error } = await uncached.query(authorizationQuery, { id: authId }).toPromise()
        if (over) return
        const found = error && problemOf(error)
        if (found && !isTransient(found)) return setWrong(found.message)
        if (data?.authorization.status === 'completed') return onConnected()
        if (!data) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
    void wait()
    return () => {
      over = true
    }
  }, [uncached, authId])
  return wrong
}

const agentsQuery = graphql(`
  query KnownAgents($isAdmin: Boolean!) {
    connections(first: 100) {
      nodes {
        id
        agentId
      }
    }
    apiKeys(first: 100) @include(if: $isAdmin) {
      nodes {
        id
        agentId
        revokedAt
      }
    }
  }
`)

/** Chooses an agent: one with a connection, one with a key (for admins), or any name. */
export function AgentField(props: Omit<AutocompleteProps, 'data' | 'placeholder'>) {
  const isAdmin = useHasRole('admin')
  const [{ data }] = useQuery({ query: agentsQuery, variables: { isAdmin } })
  const known = [
    ...(data?.connections.nodes ?? []),
    ...(data?.apiKeys?.nodes ?? []).filter(({ revokedAt }) => revokedAt === null),
  ].flatMap(({ agentId }) => agentId ?? [])
  return (
    <Autocomplete
      maxLength={INPUT_FIELDS.CreateConnectionInput!.agentId!.maxLength}
      {...props}
      placeholder="my-agent"
      data={[...new Set(known)].sort()}
    />
  )
}
