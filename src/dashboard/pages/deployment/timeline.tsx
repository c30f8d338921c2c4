/** The revisions of a deployment, newest first, with their source, trigger, author, duration and actions. */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { redeployVerb } from '../../components/action-target.ts'
import { ActorName } from '../../components/actor-name.tsx'
import { isOpen, REVISION_STATES, stateOf } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { interruptDialog, redeployDialog } from '../../components/revision-dialogs.tsx'
import { RevisionSourceLine } from '../../components/revision-source.tsx'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { duration, Elapsed, TimeAgo } from '../../components/time.tsx'
import type { DeploymentDialog } from './actions.tsx'
import type { ShownDeployment, TimelineRevision } from './documents.ts'
import { RevisionMenu } from './revision-menu.tsx'
import classes from './timeline.module.css'
import { useRevisions } from './use-revisions.ts'

const TRIGGERS = {
  create: 'Created',
  update: 'Source or build changed',
  secrets: 'Secrets changed',
  request: 'Requested',
  push: 'Pushed',
} as const

interface TimelineProps {
  deployment: ShownDeployment
  /** the revision whose message is shown above the timeline, which does not repeat it */
  shownAbove: TimelineRevision | null
  onDialog(dialog: DeploymentDialog): void
}

export function Timeline({ deployment, shownAbove, onDialog }: TimelineProps) {
  const { revisions, more, busy } = useRevisions(deployment)
  return (
    <Stack gap="md" align="stretch">
      <ol aria-label="Revisions, newest first">
        {revisions.map((revision) => (
          <li key={revision.id} className={classes.item} data-tone={toneOf(deployment, revision)}>
            <Entry {...{ deployment, shownAbove, revision, onDialog }} />
          </li>
        ))}
      </ol>
      {more && (
        <Button variant="default" size="xs" onClick={() => void more()} loading={busy} style={{ alignSelf: 'center' }}>
          Older revisions
        </Button>
      )}
    </Stack>
  )
}

const serves = ({ activeRevision }: ShownDeployment, { id }: { id: string }) => activeRevision?.id === id
const toneOf = (deployment: ShownDeployment, revision: TimelineRevision) =>
  serves(deployment, revision)
    ? deployment.serving
      ? 'good'
      : 'bad'
    : revision.status === 'DEPLOYED'
      ? 'past'
      : stateOf(revision).tone

function Entry({ deployment, shownAbove, revision, onDialog }: TimelineProps & { revision: TimelineRevision }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const may = useHasRole('deployer')
  const { id, number, status, canRedeploy } = revision
  const active = serves(deployment, revision)
  const redeploy = () => onDialog((now) => redeployDialog(now, revision))
  const interrupt = () => onDialog((now) => interruptDialog(now, revision))
  return (
    <div className={classes.entry}>
      <div className={classes.body}>
        <Group gap="xs" wrap="wrap">
          <LinkTo
            to="/w/$ws/deployments/$id/revisions/$revisionId"
            params={{ ws, id: deployment.id, revisionId: id }}
            fw={650}
          >
            #{number}
          </LinkTo>
          {status !== 'DEPLOYED' && !active && <StatusBadge {...revision} />}
          {active && (
            <StateBadge
              label={deployment.serving ? 'Serves' : 'Should serve'}
              tone={deployment.serving ? 'good' : 'bad'}
            />
          )}
          {active && status !== 'DEPLOYED' && <StatusBadge {...revision} />}
          <RevisionSourceLine revision={revision} />
        </Group>
        <Origin revision={revision} />
        <StatusMessage revision={revision} deploymentId={deployment.id} isShownAbove={shownAbove?.id === id} />
      </div>
      <Group gap={6} wrap="nowrap" className={classes.actions}>
        {may && !active && canRedeploy && status === 'DEPLOYED' && (
          <Button size="compact-sm" variant="default" onClick={redeploy}>
            {redeployVerb(deployment, revision)}
          </Button>
        )}
        {may && isOpen(status) && (
          <Button size="compact-sm" variant="default" onClick={interrupt}>
            Interrupt
          </Button>
        )}
        <RevisionMenu {...{ deployment, revision, redeploy, interrupt }} />
      </Group>
    </div>
  )
}

function Origin({ revision }: { revision: TimelineRevision }) {
  const { trigger, createdByActor, createdAt, attempt, rolloutAt, rolloutBy, durations, status } = revision
  const { sourceRevisionConfig } = revision
  return (
    <Text size="xs" c="dimmed" component="div" className={classes.origin}>
      <span>
        {trigger === 'update' && sourceRevisionConfig.imageUri
          ? 'Image changed'
          : trigger
            ? TRIGGERS[trigger]
            : 'Created'}
      </span>
      {createdByActor && (
        <>
          <span>by</span> <ActorName actor={createdByActor} />
        </>
      )}
      <TimeAgo at={createdAt} />
      {attempt > 1 && (
        <>
          <span>· redeployed</span>
          {rolloutBy && (
            <>
              <span>by</span> <ActorName actor={rolloutBy} />
            </>
          )}
          {rolloutAt && <TimeAgo at={rolloutAt} />}
        </>
      )}
      {durations.total !== null && status === 'DEPLOYED' && (
        <span>· live after {duration(durations.total * 1000)}</span>
      )}
      {isOpen(status) && rolloutAt && (
        <span>
          · for <Elapsed since={rolloutAt} />
        </span>
      )}
    </Text>
  )
}

function StatusMessage({
  revision,
  deploymentId,
  isShownAbove,
}: {
  revision: TimelineRevision
  deploymentId: string
  isShownAbove: boolean
}) {
  const { ws } = useParams({ from: '/w/$ws' })
  const { statusMessage, supersededBy, status } = revision
  if (supersededBy)
    return (
      <Text size="sm">
        Superseded by{' '}
        <LinkTo
          to="/w/$ws/deployments/$id/revisions/$revisionId"
          params={{ ws, id: deploymentId, revisionId: supersededBy.id }}
        >
          #{supersededBy.number}
        </LinkTo>
      </Text>
    )
  if (!statusMessage || isShownAbove) return null
  return (
    <Text
      size="sm"
      c={REVISION_STATES[status].tone === 'bad' ? 'red' : undefined}
      className={classes.why}
      lineClamp={3}
      title={statusMessage}
    >
      {statusMessage}
    </Text>
  )
}
