/** `/w/$ws/deployments/$id`: where it is reached and how it does, how its newest rollout goes, its revisions, and what can be done with it. */
import { Badge, Button, Group, Menu, Paper, Stack, Text, Title } from '@mantine/core'
import { IconArrowBackUp, IconDots, IconGitCompare, IconPlayerStop, IconSettings, IconTrash } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useQuery } from 'urql'
import { isNotFound, problemOf } from '../../api/problem.ts'
import { ActorName } from '../../components/actor-name.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { InterruptDialog } from '../../components/interrupt-dialog.tsx'
import { ButtonTo, LinkTo } from '../../components/links.tsx'
import { useMay } from '../../components/me.tsx'
import { NotFound, Page } from '../../components/page.tsx'
import { QueryView } from '../../components/query.tsx'
import { Reason } from '../../components/reason.tsx'
import { RedeployDialog } from '../../components/redeploy-dialog.tsx'
import { TimeAgo } from '../../components/time.tsx'
import { useFollow } from '../../components/use-follow.ts'
import { useKept } from '../../components/use-kept.ts'
import { isOpen, REVISION_STATES, repositoryName, SOURCES } from '../../components/words.ts'
import { Address } from './address.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { deploymentQuery, type ShownDeployment, type TimelineRevision } from './documents.ts'
import { RolloutLine } from './rollout-line.tsx'
import { FEWEST } from './rollout-times.ts'
import { Timeline } from './timeline.tsx'

/** Left out where uPlot doesn't load: it refuses a browser whose language is no BCP 47 tag (`en-US@posix`). */
const RolloutChart = lazy(() => import('./rollout-chart.tsx').catch(() => ({ default: () => null })))

export default function DeploymentPage() {
  const { id } = useParams({ from: '/w/$ws/deployments/$id' })
  const query = useQuery({ query: deploymentQuery, variables: { id }, requestPolicy: 'cache-and-network' })
  const [{ data, error }, again] = query
  const shown = useKept(id, data?.deployment)
  useFollow(id, () => again({ requestPolicy: 'network-only' }))
  // what was shown of it is of the past
  if (error && isNotFound(problemOf(error)))
    return <NotFound>There is no such deployment, or not any more: it may have been deleted.</NotFound>
  if (shown) return <Shown deployment={shown} />
  return <QueryView query={query}>{() => <NotFound />}</QueryView>
}

type Dialog = { do: 'redeploy' | 'interrupt'; revision: TimelineRevision } | { do: 'delete' } | null

/** That of the newest rollout: it is what somebody asked for last. */
const newestOf = ({ newest: { nodes }, activeRevision }: ShownDeployment): TimelineRevision | null => {
  const at = ({ rolloutAt, createdAt }: TimelineRevision) => Date.parse(rolloutAt ?? createdAt)
  const all = activeRevision ? [...nodes, activeRevision] : nodes
  const known = all.filter(({ status }) => status !== 'SKIPPED')
  return (
    known.reduce<TimelineRevision | null>((best, one) => (best && at(best) >= at(one) ? best : one), null) ??
    all[0] ??
    null
  )
}

function Shown({ deployment }: { deployment: ShownDeployment }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const [dialog, setDialog] = useState<Dialog>(null)
  const { id, name, status, statusMessage, reason, reasonSince, source, serving, lastChange, tags, sourceConfig } =
    deployment
  const rollout = newestOf(deployment)
  const close = () => setDialog(null)
  const act = (what: 'redeploy' | 'interrupt') => (revision: TimelineRevision) => setDialog({ do: what, revision })
  const of = (what: 'redeploy' | 'interrupt') => (dialog?.do === what ? dialog.revision : null)
  return (
    <Page
      title={name}
      above={
        <Breadcrumbs>
          <LinkTo to="/w/$ws/deployments" params={{ ws }}>
            Deployments
          </LinkTo>
          <span>{name}</span>
        </Breadcrumbs>
      }
      below={
        <Group gap="xs">
          <span>{SOURCES[source]}</span>
          {sourceConfig.repoUrl && (
            <span style={{ overflowWrap: 'anywhere' }} title={sourceConfig.repoUrl}>
              {repositoryName(sourceConfig.repoUrl)}
            </span>
          )}
          {lastChange && (
            <Group gap={5} component="span">
              <span>{CHANGES[lastChange.what]} by</span> <ActorName actor={lastChange.actor} />{' '}
              <TimeAgo at={lastChange.at} />
            </Group>
          )}
          {tags.map(({ id: tag, key, value }) => (
            <Badge key={tag} variant="default" tt="none" fw={500}>
              {key}: {value}
            </Badge>
          ))}
        </Group>
      }
      actions={<Actions deployment={deployment} rollout={rollout} onDialog={setDialog} />}
    >
      <Reason
        message={statusMessage}
        reason={reason}
        since={reasonSince}
        tone={
          // what nobody reports on may well serve
          status === 'AWAITING_DELETE' || status === 'UNKNOWN' || !deployment.activeRevision
            ? 'waiting'
            : serving
              ? 'quiet'
              : 'bad'
        }
      />
      <Paper withBorder p="md">
        <Address deployment={deployment} />
      </Paper>
      {rollout && status !== 'AWAITING_DELETE' && (
        <Paper withBorder p="md" component="section" aria-labelledby="rollout">
          <Stack gap="md">
            <Group justify="space-between" gap="xs">
              <Title order={2} size="h5" id="rollout">
                Newest rollout: #{rollout.number}
                {rollout.attempt > 1 && `, attempt ${rollout.attempt}`}
              </Title>
              <LinkTo
                to="/w/$ws/deployments/$id/revisions/$revisionId"
                params={{ ws, id, revisionId: rollout.id }}
                size="sm"
              >
                Logs
              </LinkTo>
            </Group>
            <RolloutLine revision={rollout} serves={status === 'UNKNOWN' ? null : serving} />
            <Reason
              message={rollout.statusMessage}
              reason={rollout.reason}
              since={rollout.reasonSince}
              tone={REVISION_STATES[rollout.status].tone}
              actions={
                REVISION_STATES[rollout.status].tone === 'bad' && <WaysOn deployment={deployment} rollout={rollout} />
              }
            />
          </Stack>
        </Paper>
      )}
      {deployment.newest.totalCount >= FEWEST && (
        <Suspense>
          <RolloutChart
            id={id}
            ended={deployment.newest.nodes
              .map(({ id: one, attempt, status: now }) => `${one} ${attempt} ${isOpen(now)}`)
              .join()}
          />
        </Suspense>
      )}
      <Stack gap="sm" component="section" aria-labelledby="revisions">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h5" id="revisions">
            Revisions{' '}
            <Text span c="dimmed" fw={400} size="sm">
              {deployment.newest.totalCount}
            </Text>
          </Title>
          <LinkTo to="/w/$ws/activity" params={{ ws }} search={{ deployment: id }} size="sm">
            Who changed what
          </LinkTo>
        </Group>
        <Timeline deployment={deployment} onRedeploy={act('redeploy')} onInterrupt={act('interrupt')} />
      </Stack>
      <RedeployDialog deployment={deployment} revision={of('redeploy')} onClose={close} />
      <InterruptDialog deployment={deployment} revision={of('interrupt')} onClose={close} />
      <DeleteDialog deployment={deployment} opened={dialog?.do === 'delete'} onClose={close} />
    </Page>
  )
}

/** From what went wrong to where one sees why. */
function WaysOn({
  deployment: { id, activeRevision: active },
  rollout,
}: {
  deployment: ShownDeployment
  rollout: TimelineRevision
}) {
  const { ws } = useParams({ from: '/w/$ws' })
  return (
    <>
      <LinkTo
        to="/w/$ws/deployments/$id/revisions/$revisionId"
        params={{ ws, id, revisionId: rollout.id }}
        size="sm"
        underline="always"
      >
        Read its log
      </LinkTo>
      {active && active.id !== rollout.id && (
        <LinkTo
          to="/w/$ws/deployments/$id/compare"
          params={{ ws, id }}
          search={{ from: active.id, to: rollout.id }}
          size="sm"
          underline="always"
        >
          What differs from #{active.number}, which serves
        </LinkTo>
      )}
    </>
  )
}

const CHANGES = {
  CREATED: 'made',
  UPDATED: 'changed',
  TAGGED: 'tagged',
  PUSHED: 'pushed to',
  REDEPLOYED: 'rolled out again',
  DELETED: 'deleted',
} as const

interface ActionsProps {
  deployment: ShownDeployment
  rollout: TimelineRevision | null
  onDialog(dialog: Dialog): void
}

/** What the reader may do with it now; what he may not is not there. */
function Actions({ deployment, rollout, onDialog }: ActionsProps) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const may = useMay('deployer')
  const { id, status, activeRevision: active, newest } = deployment
  const again = active ?? newest.nodes[0] ?? null
  const two = newest.nodes.length > 1
  const gone = status === 'AWAITING_DELETE'
  return (
    <>
      {may && !gone && rollout && isOpen(rollout.status) && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={16} />}
          onClick={() => onDialog({ do: 'interrupt', revision: rollout })}
        >
          Interrupt
        </Button>
      )}
      {may && !gone && again?.canRedeploy && (
        <Button
          variant="default"
          leftSection={<IconArrowBackUp size={16} />}
          onClick={() => onDialog({ do: 'redeploy', revision: again })}
        >
          Redeploy #{again.number}
        </Button>
      )}
      <ButtonTo
        to="/w/$ws/deployments/$id/settings"
        params={{ ws, id }}
        variant="default"
        leftSection={<IconSettings size={16} />}
      >
        Settings
      </ButtonTo>
      {(two || (may && !gone)) && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button variant="default" px="xs" aria-label="More to do">
              <IconDots size={18} />
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {two && (
              <Menu.Item
                leftSection={<IconGitCompare size={16} />}
                onClick={() => void navigate({ to: '/w/$ws/deployments/$id/compare', params: { ws, id } })}
              >
                Compare revisions
              </Menu.Item>
            )}
            {may && !gone && (
              <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => onDialog({ do: 'delete' })}>
                Delete…
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      )}
    </>
  )
}
