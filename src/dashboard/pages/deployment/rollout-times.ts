/** How long rollouts took: what the chart shows of revisions, and what it comes to. Pure. */
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

/** Fewer tell nothing that the timeline doesn't. */
export const MIN_ROLLOUTS = 5

export interface Rollout {
  id: string
  number: number
  outcome: 'live' | 'failed' | 'interrupted'
  status: EndedRevision['status']
  /** all in seconds: the three are the whole */
  waited: number
  build: number
  deploy: number
  total: number
}

/** Oldest first, those of which somebody knows how long they took. */
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

/** Seconds that half of those that went live took at most, and the longest of them; null: none did. */
export function typicalTimes(rollouts: readonly Rollout[]): { median: number; longest: number } | null {
  const times = rollouts
    .filter(({ outcome }) => outcome === 'live')
    .map(({ total }) => total)
    .sort((a, b) => a - b)
  if (times.length === 0) return null
  return { median: times[Math.ceil(times.length / 2) - 1]!, longest: times.at(-1)! }
}
