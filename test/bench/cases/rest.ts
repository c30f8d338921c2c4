/** Reads over REST. */
import type { Asked } from '../load/orders.ts'
import type { Comparison } from '../measure/compare.ts'
import type { Place } from '../place/place.ts'
import type { Case } from './case.ts'
import { comparing, shuffled, somethingChanges } from './graphql.ts'

const both = (requests: (place: Place, url: string) => Asked[] | Promise<Asked[]>): Comparison['requests'] => ({
  pilothouse: requests,
  'hand-written': requests,
})

const pollPaths = ({ seeded }: Place) =>
  shuffled(seeded.rows).map(({ id, revisionId }) => `/v2/deployments/${id}/revisions/${revisionId}`)

/** Number of revisions that pipelines poll, each with the tag of its last answer. */
const POLLED = 500

async function unchanged(place: Place, url: string): Promise<Asked[]> {
  const asked: Asked[] = []
  for (const path of pollPaths(place).slice(0, POLLED)) {
    const response = await fetch(url + path, { headers: { 'x-api-key': place.seeded.keys[0]! } })
    await response.arrayBuffer()
    asked.push({ path, headers: { 'if-none-match': response.headers.get('etag')! } })
  }
  return asked
}

export const restCases: Case[] = [
  comparing('REST: a page of 20 deployments', {
    id: 'rest-list',
    requests: both(() =>
      shuffled(Array.from({ length: 5_000 }, (_, offset) => ({ path: `/v2/deployments?limit=20&offset=${offset}` }))),
    ),
    between: somethingChanges,
  }),
  comparing('REST: poll of a revision, changed', {
    id: 'poll',
    requests: both((place) => pollPaths(place).map((path) => ({ path }))),
    between: somethingChanges,
  }),
  comparing('REST: poll of a revision, unchanged (If-None-Match → 304)', {
    id: 'poll-unchanged',
    status: 304,
    requests: both(unchanged),
    between: somethingChanges,
  }),
]
