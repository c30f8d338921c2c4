/** The stages of the latest rollout, from request to serving, each with its state and duration. */
import { Loader, Text } from '@mantine/core'
import {
  IconAlertTriangleFilled,
  IconCircleCheckFilled,
  IconCircleDashed,
  IconCircleMinus,
  IconCircleXFilled,
  IconClock,
} from '@tabler/icons-react'
import { duration, Elapsed, TimeAgo } from '../../components/time.tsx'
import classes from './deployment.module.css'
import type { TimelineRevision } from './documents.ts'
import { type Stage, type StageState, stagesOf } from './stages.ts'

const WORDS: Record<StageState, string> = {
  done: 'done',
  busy: 'running',
  waiting: 'waiting',
  failed: 'failed',
  unknown: 'unknown',
  ended: 'not reached',
  ahead: 'pending',
}

const MIN_SHOWN_WAIT_MS = 1_000

export function RolloutProgress({ revision, serves }: { revision: TimelineRevision; serves: boolean | null }) {
  return (
    <ol className={classes.line} aria-label={`Rollout of revision ${revision.number}`}>
      {stagesOf(revision, serves).map((stage) => (
        <li key={stage.name} className={classes.stage} data-state={stage.state}>
          <span className={classes.sign}>
            <StageIcon stage={stage} />
          </span>
          <div className={classes.words}>
            <Text size="sm" fw={600}>
              {stage.name}
            </Text>
            <Text size="xs" c="dimmed" component="div">
              <StageTime
                stage={stage}
                queuePosition={revision.queuePosition}
                superseded={revision.status === 'DEPLOYED'}
              />
            </Text>
          </div>
        </li>
      ))}
    </ol>
  )
}

function StageIcon({ stage: { name, state } }: { stage: Stage }) {
  const label = `${name}: ${WORDS[state]}`
  if (state === 'busy') return <Loader size={18} color="blue" role="img" aria-label={label} />
  if (state === 'done')
    return <IconCircleCheckFilled size={22} color="var(--mantine-color-teal-6)" aria-label={label} />
  if (state === 'failed' && name === 'Serving')
    return <IconAlertTriangleFilled size={20} color="var(--mantine-color-red-6)" aria-label={label} />
  if (state === 'failed') return <IconCircleXFilled size={22} color="var(--mantine-color-red-6)" aria-label={label} />
  if (state === 'waiting') return <IconClock size={20} color="var(--mantine-color-yellow-7)" aria-label={label} />
  if (state === 'ended') return <IconCircleMinus size={20} opacity={0.6} aria-label={label} />
  return <IconCircleDashed size={20} opacity={0.6} aria-label={label} />
}

function StageTime({
  stage: { name, state, took, since, waited, tries, at },
  queuePosition,
  superseded,
}: {
  stage: Stage
  queuePosition: number | null
  superseded: boolean
}) {
  if (name === 'Requested') return at ? <TimeAgo at={at} /> : 'unknown time'
  if (name === 'Serving') {
    if (state === 'done')
      return at ? (
        <>
          since <TimeAgo at={at} />
        </>
      ) : (
        'now'
      )
    if (state === 'failed') return 'not responding'
    if (state === 'unknown') return 'unknown'
    return state === 'ahead' ? 'pending' : superseded ? 'replaced' : 'not reached'
  }
  if (state === 'ahead') return 'pending'
  if (state === 'ended' && took === null) return 'not reached'
  if (state === 'waiting')
    return (
      <>
        waiting for {since && <Elapsed since={since} />}
        {queuePosition !== null && queuePosition > 1 && <>, {queuePosition - 1} ahead</>}
      </>
    )
  if (state === 'busy') return since && <Elapsed since={since} />
  return (
    <>
      {took === null ? 'not started' : duration(took)}
      {state === 'failed' && ', failed'}
      {state === 'ended' && ', stopped'}
      {tries > 1 && `, ${tries} tries`}
      {waited !== null && waited >= MIN_SHOWN_WAIT_MS && (
        <>
          <br />
          waited {duration(waited)}
        </>
      )}
    </>
  )
}
