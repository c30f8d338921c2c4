/** The organization's OAuth providers. */
import { Badge, Button, Checkbox, Code, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconPencil, IconPlus, IconTrash, IconWand } from '@tabler/icons-react'
import { useState } from 'react'
import { useQuery } from 'urql'
import { useCommand } from '../../api/use-write.ts'
import { type ActionDialog, ActionMenu, Dialog } from '../../components/action-menu.tsx'
import { Copy } from '../../components/copy.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { Empty, Facts, Paging, QueryView } from '../../components/page.tsx'
import { type Provider, providersQuery } from './documents.ts'
import { FromMcp, ProviderForm } from './provider-form.tsx'

const FROM_MCP: ActionDialog = { title: 'From an MCP server', content: (close) => <FromMcp onClose={close} /> }
const NEW_PROVIDER: ActionDialog = {
  title: 'New provider',
  content: (close) => <ProviderForm provider={null} onClose={close} />,
}

export function Providers() {
  const [dialog, setDialog] = useState<ActionDialog | null>(null)
  const [after, setAfter] = useState<string | null>(null)
  const query = useQuery({ query: providersQuery, variables: { after }, requestPolicy: 'cache-and-network' })
  const isAdmin = useHasRole('admin')
  const actions = isAdmin && (
    <Group gap="xs">
      <Button variant="default" leftSection={<IconWand size={16} />} onClick={() => setDialog(FROM_MCP)}>
        From an MCP server
      </Button>
      <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog(NEW_PROVIDER)}>
        New provider
      </Button>
    </Group>
  )
  return (
    <>
      <QueryView query={query}>
        {({ oauthProviders: { nodes, pageInfo } }) =>
          nodes.length === 0 && after === null ? (
            <Empty title="No providers" action={actions}>
              A provider is your organization’s client at a third party, where its people consent that agents use their
              accounts.
            </Empty>
          ) : (
            <Stack>
              <Group justify="space-between">
                <Text size="sm" c="dimmed">
                  All workspaces of the organization share these providers.
                </Text>
                {actions}
              </Group>
              {nodes.map((provider) => (
                <ProviderCard key={provider.id} provider={provider} />
              ))}
              <Paging after={after} pageInfo={pageInfo} onAfter={setAfter} />
            </Stack>
          )
        }
      </QueryView>
      {/* outside the list, which a refused write reloads */}
      <Dialog dialog={dialog} onClose={() => setDialog(null)} />
    </>
  )
}

/** Display names of token endpoint authentication methods. */
const AUTH_METHODS = {
  client_secret_basic: 'by its secret (Basic)',
  client_secret_post: 'by its secret (in the body)',
  none: 'by PKCE alone: a public client',
}

function ProviderCard({ provider }: { provider: Provider }) {
  const { name, providerId, authUrl, tokenUrl, clientId, mcpServerUrl, isDynamicClient, tokenEndpointAuthMethod } =
    provider
  // a dynamically registered client needs no manual redirect URI
  const redirectUri = isDynamicClient ? null : `${location.origin}/v2/auth/callback/${providerId}`
  const facts = {
    'Consent at': authUrl,
    'Tokens from': tokenUrl,
    Client: clientId,
    'MCP server': mcpServerUrl,
    'Redirect URI': redirectUri && (
      <>
        {redirectUri} <Copy text={redirectUri} what="the redirect URI" />
      </>
    ),
  }
  return (
    <Paper withBorder p="lg" component="article" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Stack gap={2} miw={0}>
            <Group gap="xs">
              <Title order={2} size="h4">
                {name}
              </Title>
              <Code>{providerId}</Code>
              {isDynamicClient && (
                <Badge variant="light" color="gray">
                  Registered by this server
                </Badge>
              )}
            </Group>
            <Text size="sm" c="dimmed">
              Proves itself {AUTH_METHODS[tokenEndpointAuthMethod]}
              {provider.usesPkce && tokenEndpointAuthMethod !== 'none' ? ', with PKCE' : ''}
            </Text>
          </Stack>
          <ProviderActions provider={provider} />
        </Group>
        <Facts facts={facts} />
      </Stack>
    </Paper>
  )
}

/** Change and delete, for admins. By default a provider with accounts is not deleted. */
function ProviderActions({ provider }: { provider: Provider }) {
  const isAdmin = useHasRole('admin')
  if (!isAdmin) return null
  return (
    <ActionMenu
      label={`Actions for ${provider.name}`}
      actions={[
        {
          label: 'Change',
          icon: IconPencil,
          run: {
            title: `Change ${provider.name}`,
            content: (close) => <ProviderForm provider={provider} onClose={close} />,
          },
        },
        {
          label: 'Delete',
          icon: IconTrash,
          dangerous: true,
          run: {
            title: `Delete ${provider.name}`,
            content: (close) => <Delete provider={provider} onClose={close} />,
          },
        },
      ]}
    />
  )
}

function Delete({ provider: { providerId, name, version }, onClose }: { provider: Provider; onClose(): void }) {
  const [remove] = useCommand('deleteOAuthProvider')
  const [force, setForce] = useState(false)
  return (
    <DialogForm
      verb="Delete"
      dangerous
      onSubmit={() => remove({ providerId, ...(force ? { force } : { ifVersion: version }) })}
      onClose={onClose}
    >
      <Text size="sm">
        Nobody can connect an account at {name} any more. At {name} itself the client stays.
      </Text>
      <Checkbox
        label="Also delete all users’ accounts"
        description="Their tokens are revoked, and agents get none of them any more. Without this a provider with accounts stays."
        checked={force}
        onChange={({ currentTarget }) => setForce(currentTarget.checked)}
      />
    </DialogForm>
  )
}
