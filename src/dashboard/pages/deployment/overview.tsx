/** URL, health, active revision and listener of a deployment. */
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { IconExternalLink } from '@tabler/icons-react'
import { useParams } from '@tanstack/react-router'
import { type MouseEvent, type ReactNode, useState } from 'react'
import { Copy } from '../../components/copy.tsx'
import { useCreateLink } from '../../components/deployment-link.ts'
import { restartCause, servingState } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { StateBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import classes from './deployment.module.css'
import type { ShownDeployment } from './documents.ts'

export function Overview({ deployment }: { deployment: ShownDeployment }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { id, url, status, health, serving, activeRevision: active, imageVersion, listener } = deployment
  return (
    <dl className={classes.facts}>
      <Fact name="URL" wide>
        {url ? (
          <Address deployment={deployment} url={url} />
        ) : (
          <Text size="sm" c="dimmed">
            assigned at the first deploy
          </Text>
        )}
      </Fact>
      <Fact name="Health">
        <Stack gap={2} align="flex-start">
          <StateBadge {...servingState(deployment)} />
          {health && active && (
            <Text size="xs" c="dimmed" component="div">
              {status === 'UNUSED'
                ? 'A request wakes it: open its URL, or try it below. Asleep'
                : `${health.ready} of ${health.desired} ${health.desired === 1 ? 'replica' : 'replicas'}`}
              {health.observedAt && (
                <>
                  {' '}
                  since <TimeAgo at={health.observedAt} />
                </>
              )}
            </Text>
          )}
          {health?.reason === 'QUEUE_STALLED' && <Text size="xs">{health.message}</Text>}
          <Restarts deployment={deployment} />
          {health && health.draining > 0 && (
            <Text size="xs" c="dimmed">
              {health.draining === 1
                ? '1 old replica finishes its runs'
                : `${health.draining} old replicas finish their runs`}
            </Text>
          )}
        </Stack>
      </Fact>
      <Fact name={active && !serving ? 'Should serve' : 'Serves'}>
        {active ? (
          <Text size="sm" component="div">
            <LinkTo
              to="/w/$ws/deployments/$id/revisions/$revisionId"
              params={{ ws, id, revisionId: active.id }}
              search={{ log: 'deploy' }}
              underline="always"
            >
              #{active.number}
            </LinkTo>
            {imageVersion && <> · {imageVersion}</>}
            {active.deployedAt && serving && (
              <Text size="xs" c="dimmed" component="div">
                deployed <TimeAgo at={active.deployedAt} />
              </Text>
            )}
          </Text>
        ) : (
          <Text size="sm" c="dimmed">
            {servingState(deployment).label.toLowerCase()}
          </Text>
        )}
      </Fact>
      {listener && (
        <Fact name="Listener">
          <Text size="sm">
            {listener.computeId}
            <Text span size="xs" c={listener.status === 'ONLINE' ? 'dimmed' : 'red'}>
              {' '}
              · {listener.status === 'ONLINE' ? 'online' : 'offline'}
            </Text>
          </Text>
        </Fact>
      )}
    </dl>
  )
}

function Restarts({ deployment: { restartCount: count, lastRestart: last } }: { deployment: ShownDeployment }) {
  if (!last) return null
  return (
    <Text size="xs" c="dimmed" title={last.message} component="div">
      {count === 1 ? '1 restart' : `${count} restarts`}, last: {restartCause(last)} <TimeAgo at={last.at} />
    </Text>
  )
}

function Fact({ name, wide, children }: { name: string; wide?: boolean; children: ReactNode }) {
  return (
    <div className={classes.fact} data-wide={wide}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const ACCESS_TEXTS = {
  workspace: 'for this workspace',
  organization: 'for the organization',
  public: 'public: everyone can call it',
}

interface AddressProps {
  deployment: ShownDeployment
  url: string
}

/** The address of a deployment: to copy, and to open in a new tab. A deployment that isn't public is opened by a signed link. */
function Address({ deployment: { id, access, nameUrl }, url }: AddressProps) {
  const [createLink] = useCreateLink()
  const [failure, setFailure] = useState<string | null>(null)
  // a port without names takes keys only
  const takesLinks = nameUrl !== null
  const open = async (event: MouseEvent) => {
    if (access === 'public' || !takesLinks) return
    event.preventDefault()
    // browsers block a tab that opens after an answer
    const tab = window.open('', '_blank')
    if (!tab) return setFailure('The browser blocked the new tab. Allow pop-ups for this page.')
    setFailure(null)
    // the agent must not reach this page
    tab.opener = null
    const outcome = await createLink({ input: { deploymentId: id } })
    if (outcome.ok) return tab.location.replace(outcome.value.url)
    tab.close()
    setFailure(outcome.problem.message)
  }
  return (
    <>
      <Group gap={6} wrap="nowrap" miw={0}>
        <Anchor
          href={url}
          target="_blank"
          rel="noreferrer"
          className={classes.url}
          onClick={(event) => void open(event)}
        >
          {url}
          <IconExternalLink size={14} aria-label="opens in a new tab" />
        </Anchor>
        <Copy text={url} what="the URL" />
        <Text span size="xs" c="dimmed">
          {ACCESS_TEXTS[access]}
          {access !== 'public' && !takesLinks && ', by an API key: browsers can’t open it'}
        </Text>
      </Group>
      {failure && (
        <Text size="sm" c="red" role="alert">
          {failure}
        </Text>
      )}
    </>
  )
}
