/** One integration with its state and repositories. */
import { Button, Collapse, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconChevronDown, IconFolder, IconGitBranch } from '@tabler/icons-react'
import { type FragmentOf, graphql, readFragment } from '../../api/graphql.ts'
import { DialogButton } from '../../components/action-menu.tsx'
import { Copy } from '../../components/copy.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { useHasRole } from '../../components/me.ts'
import { StateBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Repositories } from './repositories.tsx'

export const integrationFragment = graphql(`
  fragment IntegrationCard on GitIntegration {
    id
    kind
    name
    account
    suspended
    createdAt
  }
`)

export function IntegrationCard({ integration }: { integration: FragmentOf<typeof integrationFragment> }) {
  const { id, kind, name, account, suspended, createdAt } = readFragment(integrationFragment, integration)
  const [shown, { toggle }] = useDisclosure(false)
  const isAdmin = useHasRole('admin')
  const isApp = kind === 'app'
  const Icon = isApp ? IconGitBranch : IconFolder
  return (
    <Paper withBorder p="lg" component="article" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start">
          <Stack gap={2} miw={0}>
            <Group gap="sm">
              <Icon size={20} stroke={1.7} aria-hidden />
              <Title order={2} size="h4">
                {account ?? name}
              </Title>
              {suspended && <StateBadge label="Suspended" tone="bad" />}
            </Group>
            <Text size="sm" c="dimmed" component="div">
              {isApp ? 'The app at the git provider' : 'Bare repositories in a folder of the server'}, added{' '}
              <TimeAgo at={createdAt} />
            </Text>
          </Stack>
          <Group gap={4}>
            <Copy text={id} what="the id" />
            <Button
              variant="default"
              size="xs"
              onClick={toggle}
              aria-expanded={shown}
              rightSection={<IconChevronDown size={14} />}
            >
              Repositories
            </Button>
            {isAdmin && isApp && (
              <DialogButton
                variant="subtle"
                color="red"
                size="xs"
                dialog={confirmation({
                  title: `Remove ${account ?? name}`,
                  verb: 'Remove',
                  dangerous: true,
                  text: 'You can’t deploy its repositories any more. The app stays installed at the git provider: remove it there, too.',
                  command: 'removeGitIntegration',
                  input: { integrationId: id },
                })}
              >
                Remove
              </DialogButton>
            )}
          </Group>
        </Group>
        {suspended && (
          <Text size="sm">The installation is suspended. Its owner can resume it at the git provider.</Text>
        )}
        <Collapse expanded={shown}>{shown && <Repositories integrationId={id} />}</Collapse>
      </Stack>
    </Paper>
  )
}
