/** `/w/$ws/deployments/$id`: a deployment with its health, latest rollout, revisions and actions. */
import { Badge, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useQuery } from 'urql'
import { isNotFound, problemOf } from '../../api/problem.ts'
import { Dialog } from '../../components/action-menu.tsx'
import { ActorName } from '../../components/actor-name.tsx'
import { isOpen, repositoryName, SOURCE_LABELS, stateOf } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { DEFAULT_RANGE, type RangeName } from '../../components/metrics/ranges.ts'
import { Breadcrumbs, NotFound, Page, QueryView } from '../../components/page.tsx'
import { Reason, ReasonLinks } from '../../components/reason.tsx'
import { useDeploymentRefresh, useLastValue } from '../../components/refresh.ts'
import { TimeAgo } from '../../components/time.tsx'
import { AccessNotice } from './access-notice.tsx'
import { Actions, type DeploymentDialog } from './actions.tsx'
import { deploymentQuery, type ShownDeployment, type TimelineRevision } from './documents.ts'
import { Overview } from './overview.tsx'
import { RolloutProgress } from './rollout-progress.tsx'
import { MIN_ROLLOUTS } from './stages.ts'
import { Timeline } from './timeline.tsx'
import { TryItSection } from './try-it-section.tsx'

/** Charts render nothing if their code fails to load, for example while the server is down. The rest of the page stays. */
const RolloutChart = lazy(() => import('./rollout-chart.tsx').catch(() => ({ default: () => null })))

const MetricsSection = lazy(() =>
  import('../../components/metrics/metrics-section.tsx').catch(() => ({ default: () => null })),
)

export default function DeploymentPage() {
  const { id } = useParams({ from: '/w/$ws/deployments/$id' })
  const query = useQuery({ query: deploymentQuery, variables: { id }, requestPolicy: 'cache-and-network' })
  const [{ data, error }, again] = query
  const shown = useLastValue(id, data?.deployment)
  useDeploymentRefresh(id, () => again({ requestPolicy: 'network-only' }))
  // data shown before is outdated
  if (error && isNotFound(problemOf(error)))
    return <NotFound>This deployment doesn’t exist. It may have been deleted.</NotFound>
  if (shown) return <DeploymentView deployment={shown} />
  return <QueryView query={query}>{() => <NotFound />}</QueryView>
}

/** The revision whose rollout was requested last. */
const findNewestRollout = ({ newest: { nodes }, activeRevision }: ShownDeployment): TimelineRevision | null => {
  const at = ({ rolloutAt, createdAt }: TimelineRevision) => Date.parse(rolloutAt ?? createdAt)
  const all = activeRevision ? [...nodes, activeRevision] : nodes
  const known = all.filter(({ status }) => status !== 'SKIPPED')
  return (
    known.reduce<TimelineRevision | null>((best, one) => (best && at(best) >= at(one) ? best : one), null) ??
    all[0] ??
    null
  )
}

/** The newest revision older than the active one that was deployed and can be redeployed. */
const findRollbackTarget = ({ newest: { nodes }, activeRevision: active }: ShownDeployment): TimelineRevision | null =>
  nodes.find(
    ({ number, status, canRedeploy }) => active && number < active.number && status === 'DEPLOYED' && canRedeploy,
  ) ?? null

function DeploymentView({ deployment }: { deployment: ShownDeployment }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const [dialog, setDialog] = useState<DeploymentDialog | null>(null)
  const { id, name, status, statusMessage, reason, reasonSince, source, serving, lastChange, tags, sourceConfig } =
    deployment
  const rollout = findNewestRollout(deployment)
  const rollbackTarget = findRollbackTarget(deployment)
  const active = deployment.activeRevision
  const isRollback =
    lastChange?.what === 'REDEPLOYED' && rollout && rollout.number < (deployment.latestRevision?.number ?? 0)
  const openDialog = (opened: DeploymentDialog) => setDialog(() => opened)
  return (
    <Page
      title={name}
      breadcrumbs={<Breadcrumbs here={name} />}
      description={
        <Group gap="xs">
          <span>{SOURCE_LABELS[source]}</span>
          {sourceConfig.repoUrl && (
            <span style={{ overflowWrap: 'anywhere' }} title={sourceConfig.repoUrl}>
              {repositoryName(sourceConfig.repoUrl)}
            </span>
          )}
          {lastChange && (
            <Group gap={5} component="span">
              <span>{isRollback ? `rolled back to #${rollout.number}` : CHANGES[lastChange.what]} by</span>{' '}
              <ActorName actor={lastChange.actor} /> <TimeAgo at={lastChange.at} />
            </Group>
          )}
          {deployment.restarting && <Badge variant="light">Restarting</Badge>}
          {tags.map(({ id: tag, key, value }) => (
            <Badge key={tag} variant="default" fw={500}>
              {key}: {value}
            </Badge>
          ))}
        </Group>
      }
      actions={
        <Actions deployment={deployment} rollout={rollout} rollbackTarget={rollbackTarget} onDialog={openDialog} />
      }
    >
      {/* hidden before the first deploy, when the rollout below shows the reason */}
      {(active || !rollout?.statusMessage) && (
        <Reason
          message={statusMessage}
          reason={reason}
          since={reasonSince}
          // a deployment of unknown status may still serve
          tone={status === 'AWAITING_DELETE' || status === 'UNKNOWN' || !active ? 'waiting' : serving ? 'quiet' : 'bad'}
          actions={
            active && !serving && <ReasonLinks deploymentId={id} reason={reason} revisionId={active.id} log="deploy" />
          }
        />
      )}
      {deployment.accessUndecided && status !== 'AWAITING_DELETE' && <AccessNotice deployment={deployment} />}
      <Paper withBorder p="md">
        <Overview deployment={deployment} />
      </Paper>
      {rollout && status !== 'AWAITING_DELETE' && (
        <Paper withBorder p="md" component="section" aria-labelledby="rollout">
          <Stack gap="md">
            <Group justify="space-between" gap="xs">
              <Title order={2} size="h5" id="rollout">
                Latest rollout: #{rollout.number}
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
            <RolloutProgress revision={rollout} serves={status === 'UNKNOWN' ? null : serving} />
            <Reason
              message={rollout.statusMessage}
              reason={rollout.reason}
              since={rollout.reasonSince}
              tone={stateOf(rollout).tone}
              actions={
                stateOf(rollout).tone === 'quiet' ? null : (
                  <>
                    <ReasonLinks
                      deploymentId={id}
                      reason={rollout.reason}
                      revisionId={stateOf(rollout).tone === 'bad' ? rollout.id : null}
                    />
                    <ActiveRevisionNote deployment={deployment} rollout={rollout} />
                  </>
                )
              }
            />
          </Stack>
        </Paper>
      )}
      {status !== 'AWAITING_DELETE' && <MetricsView deployment={deployment} />}
      {deployment.newest.totalCount >= MIN_ROLLOUTS && (
        <Suspense>
          <RolloutChart
            id={id}
            ended={deployment.newest.nodes
              .map(({ id: one, attempt, status: now }) => `${one} ${attempt} ${isOpen(now)}`)
              .join()}
          />
        </Suspense>
      )}
      {deployment.url && status !== 'AWAITING_DELETE' && <TryItSection deployment={deployment} />}
      <Stack gap="sm" component="section" aria-labelledby="revisions">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h5" id="revisions">
            Revisions{' '}
            <Text span c="dimmed" fw={400} size="sm">
              {deployment.newest.totalCount}
            </Text>
          </Title>
          <LinkTo to="/w/$ws/activity" params={{ ws }} search={{ deployment: id }} size="sm">
            Activity
          </LinkTo>
        </Group>
        <Timeline
          deployment={deployment}
          shownAbove={status === 'AWAITING_DELETE' ? null : rollout}
          onDialog={openDialog}
        />
      </Stack>
      <Dialog dialog={dialog?.(deployment) ?? null} onClose={() => setDialog(null)} />
    </Page>
  )
}

/** The charts. Their range is in the address. */
function MetricsView({ deployment: { id, status, activeRevision, lastRestart } }: { deployment: ShownDeployment }) {
  const { range = DEFAULT_RANGE } = useSearch({ from: '/w/$ws/deployments/$id' })
  const navigate = useNavigate({ from: '/w/$ws/deployments/$id' })
  const onRange = (chosen: RangeName) =>
    void navigate({ search: chosen === DEFAULT_RANGE ? {} : { range: chosen }, resetScroll: false })
  const newest = activeRevision?.deployedAt
    ? {
        revisionId: activeRevision.id,
        number: activeRevision.number,
        at: Date.parse(activeRevision.deployedAt) / 1000,
      }
    : null
  const state = !activeRevision ? 'never served' : status === 'UNUSED' ? 'asleep' : 'serving'
  return (
    <Suspense>
      <MetricsSection {...{ id, state, newest, lastRestart, range, onRange }} />
    </Suspense>
  )
}

/** Links to a comparison with the active revision, and says whether that one is still serving. */
function ActiveRevisionNote({ deployment, rollout }: { deployment: ShownDeployment; rollout: TimelineRevision }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { id, serving, activeRevision: active } = deployment
  if (!active || active.id === rollout.id) return null
  return (
    <>
      <LinkTo
        to="/w/$ws/deployments/$id/compare"
        params={{ ws, id }}
        search={{ from: active.id, to: rollout.id }}
        size="sm"
        underline="always"
      >
        Compare with active #{active.number}
      </LinkTo>
      {serving && <Text size="sm">#{active.number} is still serving.</Text>}
    </>
  )
}

const CHANGES = {
  CREATED: 'created',
  UPDATED: 'changed',
  TAGGED: 'tagged',
  PUSHED: 'pushed',
  REDEPLOYED: 'redeployed',
  RESTARTED: 'restarted',
  DELETED: 'deleted',
} as const
