/** The steps of a revision: waiting time, duration, tries and outcome. */
import { Badge, Group, Loader, Text } from '@mantine/core'
import { IconCircleCheckFilled, IconCircleDashed, IconCircleMinus, IconCircleXFilled } from '@tabler/icons-react'
import { type FragmentOf, graphql, type ResultOf, readFragment } from '../api/graphql.ts'
import classes from './components.module.css'
import { STEP_LABELS, stateOf } from './labels.ts'
import { duration, Elapsed, fullTime } from './time.tsx'

export const stepsFragment = graphql(`
  fragment Steps on Revision {
    id
    status
    reason
    queuePosition
    steps {
      kind
      createdAt
      startedAt
      endedAt
      outcome
      reason
      tries
      isCurrent
    }
  }
`)

type Step = ResultOf<typeof stepsFragment>['steps'][number]

const OUTCOMES = { succeeded: 'succeeded', failed: 'failed', cancelled: 'was cancelled' } as const

/** Shows the newest attempt's steps; nothing when there are none. */
export function Steps({ revision }: { revision: FragmentOf<typeof stepsFragment> }) {
  const { steps, queuePosition, ...state } = readFragment(stepsFragment, revision)
  const waits = stateOf(state).tone === 'waiting'
  const current = steps.filter(({ isCurrent }) => isCurrent)
  if (current.length === 0) return null
  return (
    <ol className={classes.steps} aria-label="Steps">
      {current.map((step) => (
        <li key={`${step.kind} ${step.createdAt}`} className={classes.step} data-outcome={step.outcome ?? 'open'}>
          <Group gap={8} wrap="nowrap">
            <StepIcon step={step} waits={waits} />
            <Text fw={600} size="sm">
              {STEP_LABELS[step.kind]}
            </Text>
            {step.tries > 1 && (
              <Badge variant="light" color="yellow" size="sm">
                {step.tries} tries
              </Badge>
            )}
          </Group>
          <Text size="xs" c="dimmed" mt={2}>
            <StepTime step={step} queuePosition={queuePosition} />
          </Text>
        </li>
      ))}
    </ol>
  )
}

/** `waits`: the claimed step waits, for example for a build slot. */
function StepIcon({ step: { kind, outcome, startedAt }, waits }: { step: Step; waits: boolean }) {
  const isBusy = startedAt && !waits
  const label = outcome ? `${STEP_LABELS[kind]} ${OUTCOMES[outcome]}` : isBusy ? 'under way' : 'waiting'
  if (outcome === 'succeeded')
    return <IconCircleCheckFilled size={18} color="var(--mantine-color-teal-6)" aria-label={label} />
  if (outcome === 'failed') return <IconCircleXFilled size={18} color="var(--mantine-color-red-6)" aria-label={label} />
  if (outcome === 'cancelled') return <IconCircleMinus size={18} aria-label={label} />
  if (isBusy) return <Loader size={16} color="blue" role="img" aria-label={label} />
  return <IconCircleDashed size={18} aria-label={label} />
}

/** shorter waits are not shown */
const MIN_WAIT_SHOWN_MS = 1_000

function StepTime({ step, queuePosition }: { step: Step; queuePosition: number | null }) {
  const { createdAt, startedAt, endedAt, outcome } = step
  const between = (from: string, to: string) => Date.parse(to) - Date.parse(from)
  if (startedAt === null) {
    if (endedAt !== null) return 'never begun'
    return (
      <>
        waiting for <Elapsed since={createdAt} />
        {queuePosition !== null && queuePosition > 1 && <>, {queuePosition - 1} before it</>}
      </>
    )
  }
  const waited = between(createdAt, startedAt)
  return (
    <span title={`begun ${fullTime(startedAt)}`}>
      {endedAt === null ? <Elapsed since={startedAt} /> : duration(between(startedAt, endedAt))}
      {outcome === 'failed' && ', failed'}
      {outcome === 'cancelled' && ', cancelled'}
      {waited >= MIN_WAIT_SHOWN_MS && ` after ${duration(waited)} of waiting`}
    </span>
  )
}
