/** One listener: state, namespaces, deployments and admin actions. */
import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { IconKey, IconPencil, IconTrash } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { type FragmentOf, graphql, type ResultOf, readFragment } from '../../api/graphql.ts'
import { ActionMenu } from '../../components/action-menu.tsx'
import { Copy } from '../../components/copy.tsx'
import { confirmation } from '../../components/dialog-form.tsx'
import { servingState } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { Install } from './install.tsx'
import { ListenerForm } from './listener-form.tsx'
import classes from './listeners.module.css'

export const listenerFragment = graphql(`
  fragment ListenerCard on Listener {
    id
    computeId
    computeType
    status
    lastSeenAt
    version
    editVersion
    createdAt
    computeConfig {
      k8sNamespaces
    }
    deployments(first: 8) {
      totalCount
      nodes {
        id
        name
        status
        serving
        whyNotLive
        health {
          ready
          desired
          observedAt
        }
        activeRevision {
          id
        }
        latestRevision {
          id
          status
          reason
        }
      }
    }
  }
`)

type ListenerData = ResultOf<typeof listenerFragment>

export function ListenerCard({ listener }: { listener: FragmentOf<typeof listenerFragment> }) {
  const shown = readFragment(listenerFragment, listener)
  const { computeId, lastSeenAt, version, computeConfig } = shown
  const namespaces = computeConfig.k8sNamespaces ?? []
  return (
    <Paper withBorder p="lg" component="article" aria-label={computeId}>
      <Stack gap="md">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Stack gap={2} miw={0}>
            <Group gap="sm">
              <Title order={2} size="h4">
                {computeId}
              </Title>
              <ListenerStatus {...shown} />
            </Group>
            <Group gap={6} c="dimmed" fz="sm">
              {lastSeenAt ? (
                <span>
                  heard <TimeAgo at={lastSeenAt} />
                </span>
              ) : (
                <span>
                  registered <TimeAgo at={shown.createdAt} />
                </span>
              )}
              {version && <span>· version {version}</span>}
            </Group>
            <Group gap={6} c="dimmed" fz="sm">
              {namespaces.length === 0 ? 'No namespace, so it can have no deployments' : 'Namespaces'}
              {namespaces.map((name) => (
                <Badge key={name} variant="default">
                  {name}
                </Badge>
              ))}
            </Group>
          </Stack>
          <Actions listener={shown} />
        </Group>
        {lastSeenAt === null && <Install listener={shown} />}
        <ListenerDeployments listener={shown} />
      </Stack>
    </Paper>
  )
}

function ListenerStatus({ status, lastSeenAt }: ListenerData) {
  if (lastSeenAt === null) return <StateBadge label="Not installed yet" tone="waiting" />
  return status === 'ONLINE' ? <StateBadge label="Online" tone="good" /> : <StateBadge label="Silent" tone="bad" />
}

function ListenerDeployments({
  listener: { id: listener, computeId, status, deployments },
}: {
  listener: ListenerData
}) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { nodes, totalCount } = deployments
  if (totalCount === 0)
    return (
      <Text size="sm" c="dimmed">
        No deployments yet.
      </Text>
    )
  const more = totalCount - nodes.length
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600}>
        {totalCount === 1 ? 'One deployment' : `${totalCount.toLocaleString()} deployments`}
      </Text>
      {status === 'OFFLINE' && (
        <Text size="sm" c="dimmed">
          Its agents keep serving. New changes wait until the listener is back.
        </Text>
      )}
      <ul className={classes.held} aria-label={`Deployments of ${computeId}`}>
        {nodes.map((deployment) => {
          const { id, name, whyNotLive } = deployment
          return (
            <li key={id}>
              <LinkTo to="/w/$ws/deployments/$id" params={{ ws, id }} size="sm" fw={500} className={classes.name}>
                {name}
              </LinkTo>
              <DeploymentState deployment={deployment} />
              {whyNotLive && (
                <Text size="sm" c="dimmed" className={classes.why}>
                  {whyNotLive}
                </Text>
              )}
            </li>
          )
        })}
      </ul>
      {more > 0 && (
        <LinkTo to="/w/$ws/deployments" params={{ ws }} search={{ listener }} size="sm">
          and {more.toLocaleString()} more
        </LinkTo>
      )}
    </Stack>
  )
}

/** The same labels as the deployments list. */
function DeploymentState({ deployment }: { deployment: ListenerData['deployments']['nodes'][number] }) {
  const { latestRevision: latest, activeRevision } = deployment
  if (!activeRevision && latest) return <StatusBadge {...latest} />
  return <StateBadge {...servingState(deployment)} />
}

function Actions({ listener }: { listener: ListenerData }) {
  const { id, computeId, editVersion, deployments } = listener
  const isAdmin = useHasRole('admin')
  return (
    <Group gap={4} wrap="nowrap">
      <Copy text={id} what="the id" />
      {isAdmin && (
        <ActionMenu
          label={`Actions for ${computeId}`}
          actions={[
            {
              label: 'Change namespaces',
              icon: IconPencil,
              run: {
                title: `Namespaces of ${computeId}`,
                content: (close) => <ListenerForm listener={listener} onClose={close} />,
              },
            },
            {
              label: 'Install, with a new key',
              icon: IconKey,
              run: {
                title: `Install the listener ${computeId}`,
                size: 'lg',
                content: () => <Install listener={listener} />,
              },
            },
            {
              label: 'Delete',
              icon: IconTrash,
              dangerous: true,
              run: confirmation({
                title: `Delete ${computeId}`,
                verb: 'Delete',
                dangerous: true,
                text:
                  deployments.totalCount === 0
                    ? 'Its keys are revoked, so the program in the cluster ends its work. Nothing that runs in the cluster is removed.'
                    : 'Deployments name it, and keep it: delete them first, and wait until they are gone from the cluster.',
                command: 'deleteListener',
                input: { listenerId: id, ifVersion: editVersion },
              }),
            },
          ]}
        />
      )}
    </Group>
  )
}
