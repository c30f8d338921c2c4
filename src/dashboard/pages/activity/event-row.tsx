/** One action as a sentence with links. */
import { Group, Text, UnstyledButton } from '@mantine/core'
import { useParams } from '@tanstack/react-router'
import { ActorName } from '../../components/actor-name.tsx'
import { LinkTo } from '../../components/links.tsx'
import { StatusBadge } from '../../components/status-badge.tsx'
import { TimeAgo } from '../../components/time.tsx'
import classes from './activity.module.css'
import type { ActivityEntry, EventData } from './event.ts'
import { revisionSentence, sentenceOf } from './sentences.ts'

interface EventRowProps {
  act: ActivityEntry
  /** filters by this actor */
  onWho(subject: string): void
}

export function EventRow({ act: { event, made, times }, onWho }: EventRowProps) {
  const { type, changed, message, occurredAt, revision } = event
  const isMove = type === 'revision.status'
  const verb = isMove ? revisionSentence(event) : sentenceOf(type, changed)
  // the rolled-out revision, with its current status
  const rollout = made ?? (isMove && verb !== null ? revision : null)
  const said = message ?? rollout?.commitMessage ?? rollout?.sourceRevisionConfig.imageUri
  return (
    <li className={classes.event}>
      <Text size="xs" c="dimmed" className={classes.time} component="div">
        <TimeAgo at={occurredAt} />
      </Text>
      <div className={classes.what}>
        <Group gap={6} fz="sm" className={classes.sentence}>
          <Actor actor={event.actor} onWho={onWho} />
          {verb === null ? (
            <StatusBadge status={event.to!} reason={event.reason} />
          ) : (
            <Text inherit span c="dimmed">
              {type === 'deployment.updated' && changed.length === 0 && made ? 'made' : verb}
            </Text>
          )}
          {type === 'deployment.updated' && changed.length === 0 && made && <Revision event={event} revision={made} />}
          {isMove && <Revision event={event} revision={revision} />}
          <Subject event={event} />
          {times > 1 && (
            <Text inherit span c="dimmed">
              {times} times
            </Text>
          )}
          {made && (changed.length > 0 || type === 'deployment.created') && (
            <Text inherit span c="dimmed">
              with <Revision event={event} revision={made} last />
            </Text>
          )}
          {rollout && <StatusBadge {...rollout} />}
          {rollout && <ChangesLink event={event} revision={rollout} />}
        </Group>
        {said && (
          <Text size="xs" c="dimmed" lineClamp={2} className={classes.message}>
            {said.split('\n', 1)[0]}
          </Text>
        )}
      </div>
    </li>
  )
}

function Actor({ actor, onWho }: { actor: EventData['actor']; onWho: EventRowProps['onWho'] }) {
  const { subject } = actor
  if (!subject)
    return (
      <span className={classes.actor}>
        <ActorName actor={actor} />
      </span>
    )
  return (
    <UnstyledButton onClick={() => onWho(subject)} className={classes.actor} title="Only what this actor did">
      <ActorName actor={actor} />
    </UnstyledButton>
  )
}

/** `last`: no "of" follows. */
function Revision({ event, revision, last }: { event: EventData; revision: EventData['revision']; last?: boolean }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const words = revision ? `revision ${revision.number}` : 'a revision'
  return (
    <Text inherit span c="dimmed">
      {event.deployment && revision ? (
        <LinkTo
          to="/w/$ws/deployments/$id/revisions/$revisionId"
          params={{ ws, id: event.deployment.id, revisionId: revision.id }}
          inherit
        >
          {words}
        </LinkTo>
      ) : (
        words
      )}
      {!last && ' of'}
    </Text>
  )
}

/** A link to the revision's changes; the first revision has none. */
function ChangesLink({
  event: { deployment },
  revision,
}: {
  event: EventData
  revision: NonNullable<EventData['revision']>
}) {
  const { ws } = useParams({ from: '/w/$ws' })
  if (!deployment || revision.number === 1) return null
  return (
    <LinkTo
      to="/w/$ws/deployments/$id/compare"
      params={{ ws, id: deployment.id }}
      search={{ from: 'before', to: revision.id }}
      size="xs"
      aria-label={`What changed with revision ${revision.number} of ${deployment.name}`}
    >
      What changed
    </LinkTo>
  )
}

/** The event's object, as a link when it still exists. */
function Subject({ event: { deployment, subjectName } }: { event: EventData }) {
  const { ws } = useParams({ from: '/w/$ws' })
  if (deployment)
    return (
      <LinkTo to="/w/$ws/deployments/$id" params={{ ws, id: deployment.id }} inherit fw={600}>
        {deployment.name}
      </LinkTo>
    )
  if (!subjectName) return null
  return (
    <Text inherit span fw={600}>
      {subjectName}
    </Text>
  )
}
