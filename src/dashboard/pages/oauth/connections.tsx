/** Connections between agents and the user's accounts, for all agents or one. */
import { Anchor, Button, Group, NativeSelect, Paper, Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { graphql } from '../../api/graphql.ts'
import { useCommand } from '../../api/use-write.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Loading, Paging, QueryView } from '../../components/page.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { AgentField } from './connect-account.tsx'
import { accountLabel, type Token, tokensQuery } from './documents.ts'

const connectionsQuery = graphql(`
  query MyConnections($agentId: ID, $after: String) {
    connections(agentId: $agentId, first: 100, after: $after) {
      nodes {
        id
        agentId
        createdAt
        providerAccountLabel
        provider {
          id
          name
        }
        token {
          id
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`)

/** pause in typing before a search */
const DEBOUNCE_MS = 300

interface ConnectionsProps {
  agent: string
  onAgent(agent: string): void
}

export function Connections({ agent, onAgent }: ConnectionsProps) {
  const [text, setText] = useState(agent)
  const [settled] = useDebouncedValue(text.trim(), DEBOUNCE_MS)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address changes only with the typed name
  useEffect(() => {
    if (settled !== agent) onAgent(settled)
  }, [settled])
  return (
    <Stack>
      <AgentField
        label="Agent"
        description="As its key names it (agent_id). Empty: all that may use one of your accounts."
        leftSection={<IconSearch size={16} />}
        maw={420}
        value={text}
        onChange={setText}
      />
      <ConnectionList key={settled} agentId={settled || null} onAgent={setText} />
    </Stack>
  )
}

interface LinksProps {
  /** null: all agents */
  agentId: string | null
  onAgent(agent: string): void
}

function ConnectionList({ agentId, onAgent }: LinksProps) {
  const [after, setAfter] = useState<string | null>(null)
  const query = useQuery({ query: connectionsQuery, variables: { agentId, after }, requestPolicy: 'cache-and-network' })
  const mayWrite = useHasRole('deployer')
  return (
    <QueryView query={query} waiting={<Loading rows={2} />}>
      {({ connections: { nodes, pageInfo } }) => (
        <Stack>
          {nodes.length === 0 &&
            (agentId === null ? (
              <Empty title="No connections yet">
                Name one above to connect it. Connections of others are shown to nobody else.
              </Empty>
            ) : (
              <Text size="sm">“{agentId}” may use none of your accounts.</Text>
            ))}
          {nodes.map((link) => (
            <Paper
              key={link.id}
              withBorder
              p="md"
              component="article"
              aria-label={`${link.agentId}: ${accountLabel(link)}`}
            >
              <Group justify="space-between">
                <Stack gap={2} miw={0}>
                  <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
                    {agentId === null && (
                      <>
                        <Anchor component="button" type="button" inherit onClick={() => onAgent(link.agentId)}>
                          {link.agentId}
                        </Anchor>
                        {' · '}
                      </>
                    )}
                    {accountLabel(link)}
                  </Text>
                  <Text size="sm" c="dimmed" component="div">
                    {link.provider.name}, connected <TimeAgo at={link.createdAt} />
                  </Text>
                </Stack>
                {mayWrite && <Disconnect id={link.id} agentId={link.agentId} account={accountLabel(link)} />}
              </Group>
            </Paper>
          ))}
          <Paging after={after} pageInfo={pageInfo} onAfter={setAfter} />
          {mayWrite && agentId !== null && (
            <ConnectMore agentId={agentId} connected={nodes.map(({ token }) => token.id)} />
          )}
        </Stack>
      )}
    </QueryView>
  )
}

function Disconnect({ id, agentId, account }: { id: string; agentId: string; account: string }) {
  return (
    <DialogButton
      variant="subtle"
      color="red"
      size="xs"
      dialog={confirmation({
        title: `Disconnect “${agentId}”`,
        verb: 'Disconnect',
        dangerous: true,
        text: `It gets no token of ${account} any more. One that it has already is good until it expires. Your account stays connected.`,
        command: 'deleteConnection',
        input: { agentId, connectionId: id },
      })}
    >
      Disconnect
    </DialogButton>
  )
}

/** Connects another of the user's accounts to the agent. */
function ConnectMore({ agentId, connected }: { agentId: string; connected: readonly string[] }) {
  const [{ data }] = useQuery({ query: tokensQuery, variables: { after: null } })
  const [chosen, setChosen] = useState<string | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [write, busy] = useCommand('createConnection')
  const others: Token[] = data?.oauthTokens.nodes.filter(({ id }) => !connected.includes(id)) ?? []
  if (others.length === 0) return null
  const oauthTokenId = others.find(({ id }) => id === chosen)?.id ?? others[0]!.id
  const connect = async () => {
    const outcome = await write({ agentId, oauthTokenId })
    setWrong(outcome.ok ? null : outcome.problem.message)
  }
  return (
    <Group align="flex-end" gap="xs">
      <NativeSelect
        label="Account"
        value={oauthTokenId}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        data={others.map((token) => ({ value: token.id, label: `${accountLabel(token)} (${token.provider.name})` }))}
        error={wrong}
      />
      <Button variant="light" loading={busy} onClick={() => void connect()}>
        Connect
      </Button>
    </Group>
  )
}
