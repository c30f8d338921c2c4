/** Durations of the last rollouts, for the chart. */
import { graphql, type ResultOf } from '../../api/graphql.ts'

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
