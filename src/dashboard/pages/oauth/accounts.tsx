/** The user's own accounts; other users can't see them. */
import { Badge, Button, Group, Paper, Stack, Text, TextInput } from '@mantine/core'
import { IconPencil, IconPlus, IconStar, IconTrash } from '@tabler/icons-react'
import { useState } from 'react'
import { useQuery } from 'urql'
import { useCommand } from '../../api/use-write.ts'
import { ActionMenu, Dialog } from '../../components/action-menu.tsx'
import { confirmation, DialogForm, useFields } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Paging, QueryView } from '../../components/page.tsx'
import { StateBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { ConnectAccount } from './connect-account.tsx'
import { accountLabel, type Token, tokensQuery } from './documents.ts'

export function Accounts() {
  const [after, setAfter] = useState<string | null>(null)
  const query = useQuery({ query: tokensQuery, variables: { after }, requestPolicy: 'cache-and-network' })
  const [isConnecting, setConnecting] = useState(false)
  const mayConnect = useHasRole('deployer')
  const connect = mayConnect && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setConnecting(true)}>
      Connect an account
    </Button>
  )
  const dialog = {
    title: 'Connect an account',
    content: (close: () => void) => (
      <ConnectAccount onConnected={() => query[1]({ requestPolicy: 'network-only' })} onClose={close} />
    ),
  }
  return (
    <>
      <QueryView query={query}>
        {({ oauthTokens: { nodes, pageInfo } }) =>
          nodes.length === 0 && after === null ? (
            <Empty title="No accounts yet" action={connect}>
              Let an agent read your mail, or write to your calendar: you consent at the provider, and say here which
              agent it is for.
            </Empty>
          ) : (
            <Stack>
              <Group justify="space-between">
                <Text size="sm" c="dimmed">
                  Only you see these. The tokens themselves are shown to nobody.
                </Text>
                {connect}
              </Group>
              {nodes.map((token) => (
                <Account key={token.id} token={token} />
              ))}
              <Paging after={after} pageInfo={pageInfo} onAfter={setAfter} />
            </Stack>
          )
        }
      </QueryView>
      {/* outside the list, which reloads while the user consents */}
      <Dialog dialog={isConnecting ? dialog : null} onClose={() => setConnecting(false)} />
    </>
  )
}

function Account({ token }: { token: Token }) {
  const { provider, scopes, status, statusMessage, isDefault, createdAt } = token
  return (
    <Paper withBorder p="md" component="article" aria-label={accountLabel(token)}>
      <Group justify="space-between" align="flex-start" wrap="nowrap">
        <Stack gap={6} miw={0}>
          <Group gap="xs">
            <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
              {accountLabel(token)}
            </Text>
            {status === 'EXPIRED' && <StateBadge label="Expired" tone="bad" />}
            {isDefault && (
              <Badge variant="light" color="gray">
                Default
              </Badge>
            )}
          </Group>
          <Text size="sm" c="dimmed" component="div">
            {provider.name}, connected <TimeAgo at={createdAt} />
          </Text>
          {statusMessage && <Text size="sm">{statusMessage}</Text>}
          {scopes.length > 0 && (
            <Group gap={4} role="group" aria-label="Scopes">
              {scopes.map((scope) => (
                <Badge key={scope} variant="default" fw={500}>
                  {scope}
                </Badge>
              ))}
            </Group>
          )}
        </Stack>
        <AccountActions token={token} />
      </Group>
    </Paper>
  )
}

/** Rename, make default, disconnect. */
function AccountActions({ token }: { token: Token }) {
  const mayWrite = useHasRole('deployer')
  if (!mayWrite) return null
  const { id: tokenId, provider, isDefault } = token
  const account = accountLabel(token)
  return (
    <ActionMenu
      label={`Actions for ${account}`}
      actions={[
        {
          label: 'Rename',
          icon: IconPencil,
          run: { title: 'Name this account', content: (close) => <Rename token={token} onClose={close} /> },
        },
        !isDefault && {
          label: 'Make default',
          icon: IconStar,
          run: confirmation({
            title: `${account} as the default`,
            verb: 'Make default',
            text: `An agent that is connected to several of your accounts at ${provider.name} gets this one.`,
            command: 'updateOAuthToken',
            input: { tokenId, isDefault: true },
          }),
        },
        {
          label: 'Disconnect',
          icon: IconTrash,
          dangerous: true,
          run: confirmation({
            title: `Disconnect ${account}`,
            verb: 'Disconnect',
            dangerous: true,
            text: (
              <Stack gap="xs">
                <Text size="sm">No agent gets its token from then on, and it is revoked at {provider.name}, too.</Text>
                <Text size="sm">Connecting it again means to consent again.</Text>
              </Stack>
            ),
            command: 'deleteOAuthToken',
            input: { tokenId },
          }),
        },
      ]}
    />
  )
}

function Rename({ token, onClose }: { token: Token; onClose(): void }) {
  const [update] = useCommand('updateOAuthToken')
  const fields = useFields('UpdateOAuthTokenInput', { initialValues: { label: token.providerAccountLabel ?? '' } })
  return (
    <DialogForm
      verb="Save"
      fields={fields}
      onSubmit={() => update({ tokenId: token.id, label: fields.values.label.trim() })}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Shown instead of what the provider calls it."
        {...fields.getInputProps('label')}
      />
    </DialogForm>
  )
}
