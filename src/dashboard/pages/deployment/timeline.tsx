/**
 * The revisions of a deployment, newest first, with their source, trigger, author, duration and actions. The newest come with
 * the page, older pages on request. Those are read again after each change: an old revision may have been redeployed.
 */
import { Button, Group, Stack, Text } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useClient } from 'urql'
import { redeployVerb } from '../../components/action-target.ts'
import { ActorName } from '../../components/actor-name.tsx'
import { isOpen, REVISION_STATES, stateOf } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { useHasRole } from '../../components/me.ts'
import { useDeploymentRefresh } from '../../components/refresh.ts'
import { interruptDialog, redeployDialog } from '../../components/revision-dialogs.tsx'
import { RevisionSourceLine } from '../../components/revision-source.tsx'
import { StateBadge, StatusBadge } from '../../components/status-badge.tsx'
import { duration, Elapsed, TimeAgo } from '../../components/time.tsx'
import type { DeploymentDialog } from './actions.tsx'
import classes from './deployment.module.css'
import { olderQuery, type ShownDeployment, type TimelineRevision } from './documents.ts'
import { RevisionMenu } from './revision-menu.tsx'

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

interface Older {
  pages: number
  /** includes the newest ones of that time, because one of them may have left the newest page since */
  revisions: TimelineRevision[]
  hasMore: boolean
}

/** `more` reads the next page; null: there is none. */
function useRevisions({ id, newest }: ShownDeployment): {
  revisions: TimelineRevision[]
  more: (() => Promise<void>) | null
  busy: boolean
} {
  const client = useClient()
  const [older, setOlder] = useState<Older>({ pages: 0, revisions: [], hasMore: newest.pageInfo.hasNextPage })
  const [busy, setBusy] = useState(false)
  // of two concurrent reads the later one wins
  const turn = useRef(0)
  const read = async (pages: number) => {
    const own = ++turn.current
    const revisions = [...newest.nodes]
    let page = newest.pageInfo
    for (let i = 0; i < pages && page.hasNextPage; i++) {
      const variables = { id, after: page.endCursor }
      const { data } = await client.query(olderQuery, variables, { requestPolicy: 'network-only' }).toPromise()
      if (!data?.deployment || own !== turn.current) return
      revisions.push(...data.deployment.revisions.nodes)
      page = data.deployment.revisions.pageInfo
    }
    setOlder({ pages, revisions, hasMore: page.hasNextPage })
  }
  const again = () => older.pages > 0 && void read(older.pages)
  useDeploymentRefresh(id, again)
  // biome-ignore lint/correctness/useExhaustiveDependencies: older pages start where the newest page ends
  useEffect(() => void again(), [newest.pageInfo.endCursor])
  const more = async () => {
    setBusy(true)
    await read(older.pages + 1)
    setBusy(false)
  }
  // the newest page is fresher
  const all = new Map(older.revisions.map((one) => [one.id, one]))
  for (const one of newest.nodes) all.set(one.id, one)
  const hasMore = older.pages > 0 ? older.hasMore : newest.pageInfo.hasNextPage
  return {
    revisions: [...all.values()].sort((a, b) => b.number - a.number),
    more: hasMore ? more : null,
    busy,
  }
}
