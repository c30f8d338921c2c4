/** The list of API keys that can act in this workspace. */
import { Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useQuery } from 'urql'
import { type FragmentOf, graphql, readFragment } from '../../api/graphql.ts'
import { actorFragment } from '../../components/actor-name.tsx'
import { useMe } from '../../components/me.ts'
import { QueryView } from '../../components/page.tsx'
import { useNewEvents } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { CreateKey } from './create-key.tsx'
import { Rows, Section } from './list.tsx'
import { EndButton, isEnded, Row } from './row.tsx'

const keyFragment = graphql(`
  fragment KeyRow on ApiKey {
    id
    name
    owner
    prefix
    role
    secretsRead
    organizationWide
    listenerId
    agentId
    createdBy
    createdAt
    lastUsedAt
    expiresAt
    revokedAt
  }
`)

const keysQuery = graphql(
  `
    query ApiKeys($after: String) {
      apiKeys(first: 50, after: $after) {
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          id
          ...KeyRow
        }
      }
    }
  `,
  [keyFragment],
)

const EVENT_TYPES = ['api_key.*']

export function ApiKeys() {
  const [all, setAll] = useState(false)
  return (
    <Section title="API keys" all={all} onAll={setAll} action={<CreateKey />}>
      <KeysPage all={all} />
    </Section>
  )
}

function KeysPage({ all, after = null }: { all: boolean; after?: string | null }) {
  const query = useQuery({ query: keysQuery, variables: { after }, requestPolicy: 'cache-and-network' })
  useNewEvents({ types: EVENT_TYPES }, () => query[1]({ requestPolicy: 'network-only' }))
  return (
    <QueryView query={query}>
      {({ apiKeys }) => (
        <Rows
          connection={apiKeys}
          row={(key) => <KeyRow key={key.id} apiKey={key} all={all} />}
          empty="No API keys yet."
          more={(cursor) => <KeysPage all={all} after={cursor} />}
        />
      )}
    </QueryView>
  )
}

interface KeyRowProps {
  apiKey: FragmentOf<typeof keyFragment>
  all: boolean
}

function KeyRow({ apiKey, all }: KeyRowProps) {
  const shown = readFragment(keyFragment, apiKey)
  const { id, name, owner, prefix, role, secretsRead, organizationWide, agentId, createdAt, lastUsedAt, expiresAt } =
    shown
  const me = useMe()
  const endedAt = shown.revokedAt
  if (!all && isEnded({ expiresAt, endedAt })) return null
  const rights = [
    ...(secretsRead ? ['reads secrets'] : []),
    ...(organizationWide ? ['every workspace'] : []),
    ...(agentId ? [`agent ${agentId}`] : []),
  ]
  // only an organization-wide key may revoke an organization-wide key
  const may = !organizationWide || me?.organizationWide === true
  const isMine = readFragment(actorFragment, me?.actor)?.subject === id
  return (
    <Row
      name={name}
      below={
        <Group gap={6}>
          <Prefix>{prefix}</Prefix>
          {owner && owner !== name && <span>of {owner},</span>}
          <span>
            made <TimeAgo at={createdAt} />
          </span>
        </Group>
      }
      role={role}
      rights={rights}
      lastUsedAt={lastUsedAt}
      expiresAt={expiresAt}
      endedAt={endedAt}
      end={
        may && (
          <EndButton
            label={`Revoke ${name}`}
            verb="Revoke"
            title={`Revoke “${name}”?`}
            command="revokeApiKey"
            input={{ apiKeyId: id }}
            text={
              <>
                Whatever uses <Prefix>{prefix}</Prefix> is refused from now on, and everybody who has signed in with it
                is signed out.{' '}
                {lastUsedAt ? (
                  <>
                    It was last used <TimeAgo at={lastUsedAt} />.
                  </>
                ) : (
                  'It was never used.'
                )}{' '}
                This can’t be taken back.
                {isMine && ' You have signed in with it yourself: you will be signed out, too.'}
              </>
            }
          />
        )
      }
    />
  )
}

const Prefix = ({ children }: { children: string }) => (
  <Text span ff="monospace" fz="xs">
    {children}…
  </Text>
)
