/** The API keys that can act in this workspace: the user's own, or all for admins. */
import { Code, Group, Text } from '@mantine/core'
import { graphql, type ResultOf, readFragment } from '../../api/graphql.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { actorFragment } from '../../components/actor-name.tsx'
import { CreateSecret } from '../../components/create-secret.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useMe } from '../../components/me.ts'
import { TimeAgo } from '../../components/time.tsx'
import { AccessList, END_BUTTON } from './access-list.tsx'
import { KeyForm } from './key-form.tsx'

const keysQuery = graphql(`
  query ApiKeys($after: String) {
    apiKeys(first: 50, after: $after) {
      pageInfo {
        hasNextPage
        endCursor
      }
      nodes {
        id
        name
        owner
        prefix
        role
        secretsRead
        organizationWide
        agentId
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
      }
    }
  }
`)
type ApiKey = ResultOf<typeof keysQuery>['apiKeys']['nodes'][number]

/** `everybodys`: the keys of all users. */
export function ApiKeys({ everybodys }: { everybodys: boolean }) {
  const me = useMe()
  const rowOf = (apiKey: ApiKey) => {
    const { id, name, owner, prefix, secretsRead, organizationWide, agentId, createdAt, revokedAt } = apiKey
    // only an organization-wide key may revoke an organization-wide key
    const may = !organizationWide || me?.organizationWide === true
    const isMine = readFragment(actorFragment, me?.actor)?.subject === id
    return {
      ...apiKey,
      below: (
        <Group gap={6}>
          <Prefix>{prefix}</Prefix>
          {owner && owner !== name && <span>of {owner},</span>}
          <span>
            made <TimeAgo at={createdAt} />
          </span>
        </Group>
      ),
      rights: [
        ...(secretsRead ? ['reads secrets'] : []),
        ...(organizationWide ? ['every workspace'] : []),
        ...(agentId ? [`agent ${agentId}`] : []),
      ],
      endedAt: revokedAt,
      end: may && <Revoke apiKey={apiKey} isMine={isMine} />,
    }
  }
  return (
    <AccessList
      title={everybodys ? 'API keys' : 'Your API keys'}
      action={everybodys && <CreateKey />}
      query={keysQuery}
      rowsOf={({ apiKeys: { pageInfo, nodes } }) => ({ pageInfo, rows: nodes.map(rowOf) })}
      events={['api_key.*']}
      empty="No API keys yet."
    />
  )
}

function Revoke({ apiKey: { id, name, prefix, lastUsedAt }, isMine }: { apiKey: ApiKey; isMine: boolean }) {
  return (
    <DialogButton
      {...END_BUTTON}
      aria-label={`Revoke ${name}`}
      dialog={confirmation({
        title: `Revoke “${name}”?`,
        verb: 'Revoke it',
        dangerous: true,
        command: 'revokeApiKey',
        input: { apiKeyId: id },
        text: (
          <>
            Whatever uses <Prefix>{prefix}</Prefix> is refused from now on, and everybody who has signed in with it is
            signed out.{' '}
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
        ),
      })}
    >
      Revoke
    </DialogButton>
  )
}

const Prefix = ({ children }: { children: string }) => (
  <Text span ff="monospace" fz="xs">
    {children}…
  </Text>
)

/** The button and dialog that create an API key and show it once. */
const CreateKey = () => (
  <CreateSecret
    label="New key"
    title="New API key"
    what="key"
    form={KeyForm}
    help={({ name }) => (
      <>
        “{name}” is shown only once. Store it where your program can read it, and send it in the header{' '}
        <Code>X-Api-Key</Code>.
      </>
    )}
  />
)
