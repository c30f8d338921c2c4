/** Derives the stages of a rollout, from request to serving, with their states and durations, and the usual times of rollouts. */

import { graphql, type ResultOf } from '../../api/graphql.ts'
import { STEP_LABELS, stateOf } from '../../components/labels.ts'
import type { TimelineRevision } from './documents.ts'

export type StageState = 'done' | 'busy' | 'waiting' | 'failed' | 'unknown' | 'ended' | 'ahead'

export interface Stage {
  name: 'Requested' | 'Prepare' | 'Build' | 'Deploy' | 'Serving'
  state: StageState
  /** duration in ms; null: not over, or without duration */
  took: number | null
  /** ISO 8601: start of the work or of the wait; null: not in progress */
  since: string | null
  /** ms between creation and start */
  waited: number | null
  tries: number
  /** ISO 8601: end of the stage */
  at: string | null
}

type Step = TimelineRevision['steps'][number]

/** The step that a revision in this status waits for or runs. */
const NEXT_STEP: Partial<Record<TimelineRevision['status'], Step['kind']>> = {
  CREATING: 'PROVISION',
  QUEUED: 'BUILD',
  AWAITING_BUILD: 'BUILD',
  BUILDING: 'BUILD',
  AWAITING_DEPLOY: 'DEPLOY',
  DEPLOYING: 'DEPLOY',
}
const ORDER = ['PROVISION', 'BUILD', 'DEPLOY'] as const

const EMPTY_STAGE = { took: null, since: null, waited: null, tries: 0, at: null }

/** `serves`: the deployment serves this revision; null: unknown. */
export function stagesOf(revision: TimelineRevision, serves: boolean | null): Stage[] {
  const { status, source, rolloutAt, deployedAt, statusSince, isActive } = revision
  const steps = revision.steps.filter(({ isCurrent }) => isCurrent)
  const now = NEXT_STEP[status]
  const builds = source === 'gitprovider' || source === 'internal_source'
  const work = ORDER.flatMap((kind): Stage[] => {
    const step = steps.findLast((one) => one.kind === kind)
    if (step) return [stageOf(step, stateOf(revision).tone === 'waiting')]
    // the revision ended before its deploy step
    if (now === undefined && kind === 'DEPLOY' && status !== 'DEPLOYED')
      return [{ ...EMPTY_STAGE, name: STEP_LABELS[kind], state: 'ended' }]
    // pending: a built source may skip the build if an earlier one can be reused, which is unknown until its turn
    const ahead = now !== undefined && ORDER.indexOf(kind) >= ORDER.indexOf(now)
    if (!ahead || kind === 'PROVISION' || (kind === 'BUILD' && !builds)) return []
    const waits = kind === now || (status === 'QUEUED' && kind === 'BUILD')
    return [
      {
        ...EMPTY_STAGE,
        name: STEP_LABELS[kind],
        state: waits ? 'waiting' : 'ahead',
        since: waits ? statusSince : null,
      },
    ]
  })
  const requested: Stage = { ...EMPTY_STAGE, name: 'Requested', state: 'done', at: rolloutAt }
  return [requested, ...work, servingStage(revision, isActive && status === 'DEPLOYED', serves, deployedAt)]
}

function servingStage(
  { status, statusSince }: TimelineRevision,
  arrived: boolean,
  serves: boolean | null,
  deployedAt: string | null,
): Stage {
  const stage = { ...EMPTY_STAGE, name: 'Serving' } as const
  if (arrived) return { ...stage, state: serves === null ? 'unknown' : serves ? 'done' : 'failed', at: deployedAt }
  if (status === 'DEPLOYED') return { ...stage, state: 'ended', at: deployedAt }
  // a revision that ended earlier was never deployed
  return NEXT_STEP[status] ? { ...stage, state: 'ahead' } : { ...stage, state: 'ended', at: statusSince }
}

const STATES = { succeeded: 'done', failed: 'failed', cancelled: 'ended' } as const

/** `waits`: the step is claimed but still waits, for example for its turn on a machine. */
function stageOf({ kind, createdAt, startedAt, endedAt, outcome, tries }: Step, waits: boolean): Stage {
  const ms = (from: string, to: string) => Math.max(0, Date.parse(to) - Date.parse(from))
  return {
    name: STEP_LABELS[kind],
    state: outcome ? STATES[outcome] : startedAt && !waits ? 'busy' : 'waiting',
    took: startedAt && endedAt ? ms(startedAt, endedAt) : null,
    since: endedAt ? null : (startedAt ?? createdAt),
    waited: startedAt ? ms(createdAt, startedAt) : null,
    tries,
    at: endedAt,
  }
}

/** Durations of the last rollouts, for the chart. */
export const rolloutTimesQuery = graphql(`
  query RolloutTimes($id: ID!) {
    deployment(id: $id) {
      id
      revisions(first: 50, status: [DEPLOYED, BUILD_FAILED, DEPLOY_FAILED, CREATE_FAILED, INTERRUPTED]) {
        nodes {
          id
          number
          status
          durations {
            build
            deploy
            total
          }
        }
      }
    }
  }
`)
type EndedRevision = NonNullable<ResultOf<typeof rolloutTimesQuery>['deployment']>['revisions']['nodes'][number]

/** Fewer rollouts show nothing that the timeline doesn't. */
export const MIN_ROLLOUTS = 5

export interface Rollout {
  id: string
  number: number
  outcome: 'live' | 'failed' | 'interrupted'
  status: EndedRevision['status']
  /** in seconds; `total` is the sum of the other three */
  waited: number
  build: number
  deploy: number
  total: number
}

/** Rollouts of known duration, oldest first. */
export function toRollouts(revisions: readonly EndedRevision[]): Rollout[] {
  return revisions
    .flatMap(({ id, number, status, durations: { build, deploy, total } }): Rollout[] => {
      if (total === null) return []
      const outcome = status === 'DEPLOYED' ? 'live' : status === 'INTERRUPTED' ? 'interrupted' : 'failed'
      const worked = { build: build ?? 0, deploy: deploy ?? 0 }
      const waited = Math.max(0, total - worked.build - worked.deploy)
      return [{ id, number, status, outcome, ...worked, waited, total }]
    })
    .sort((a, b) => a.number - b.number)
}

/** Seconds until rollouts went live; null: none did. */
export function typicalTimes(rollouts: readonly Rollout[]): { median: number; longest: number } | null {
  const times = rollouts
    .filter(({ outcome }) => outcome === 'live')
    .map(({ total }) => total)
    .sort((a, b) => a - b)
  if (times.length === 0) return null
  return { median: times[Math.ceil(times.length / 2) - 1]!, longest: times.at(-1)! }
}
