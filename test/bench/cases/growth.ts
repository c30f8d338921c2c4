/** Operations whose time may depend on the number of deployments, each compared with the list near its beginning. */
import type { Asked } from '../load/orders.ts'
import { type Entrant, race } from '../measure/compare.ts'
import { slownessTable } from '../measure/report.ts'
import type { Place } from '../place/place.ts'
import type { Case } from './case.ts'
import { cursorsOf, shuffled, somethingChanges } from './graphql.ts'

const CURSORS =
  'query Cursors($first: Int!, $after: String) { deployments(first: $first, after: $after) { edges { cursor } } }'
const LIST = `query List($filter: DeploymentFilter, $after: String) { deployments(first: 20, filter: $filter, after: $after) {
  edges { node { id name source createdAt latestRevision { id number status } listener { id computeId } } } } }`
const COUNT = `query Count($filter: DeploymentFilter, $after: String) { deployments(first: 1, filter: $filter, after: $after) {
  totalCount totalCountIsEstimate } }`

/** Depth of a deep page, as a share of all deployments. */
const DEEP_SHARE = 0.9
/** Duration of a round in s; short, because there are many entrants. */
const ROUND_SECONDS = 0.6

/** Each filter matches one deployment in a thousand unless its name says otherwise. */
const filtersOf = ({ seeded: { rows, listenerIds, tagIds } }: Place): [name: string, filters: object[]][] => [
  ['name search, rare', Array.from({ length: 100 }, (_, n) => ({ nameContains: `quasar-${n}` }))],
  ['name search, one in eight', [{ nameContains: 'support' }]],
  ['name search, none', Array.from({ length: 100 }, (_, n) => ({ nameContains: `nowhere-${n}` }))],
  ['name', rows.slice(0, 500).map(({ name }) => ({ name }))],
  ['deploymentIds', rows.slice(0, 500).map(({ id }, at) => ({ deploymentIds: [id, rows[at + 1]!.id] }))],
  ['source', [{ source: 'internal_container' }]],
  ['deploymentType', [{ deploymentType: 'prod' }]],
  ['imageVersion', [{ imageVersion: '0.9.1' }]],
  ['tagValueIds', [{ tagValueIds: [tagIds[0]] }]],
  ['listenerId', [{ listenerId: listenerIds.at(-1) }]],
  ['listenerId, one in thirty', listenerIds.slice(0, -1).map((listenerId) => ({ listenerId }))],
  ['remoteReconciled, two in three', [{ remoteReconciled: true }]],
  ['status', [{ status: 'UNUSED' }]],
  ['latestRevisionStatus, one in fifty', [{ latestRevisionStatus: ['DEPLOY_FAILED'] }]],
  ['serving, none', [{ serving: true }]],
]

export const growthCase: Case = {
  id: 'growth',
  what: 'Pages at depth, counts, searches and filters, as ratios to the list near its beginning',
  async run(open, how) {
    const place = await open()
    const { server, seeded } = place
    const deep = Math.floor(seeded.deployments * DEEP_SHARE)
    const cursors = await cursorsOf(place, server.url, deep + 1_000, CURSORS, {})
    const near = shuffled(cursors.slice(0, 1_000))
    const post = (query: string, variables: object): Asked => ({
      path: '/graphql',
      body: JSON.stringify({ query, variables }),
    })
    // each with another cursor, so that all requests differ
    const filtered = (query: string, filters: readonly object[]) =>
      near.map((after, at) => post(query, { filter: filters[at % filters.length], after }))
    const unfiltered = (query: string, after: readonly string[]) => after.map((one) => post(query, { after: one }))
    const offsets = (from: number) =>
      shuffled(Array.from({ length: 1_000 }, (_, at) => ({ path: `/v2/deployments?limit=20&offset=${from + at}` })))
    const filters = filtersOf(place)
    const entrants: [string, Asked[]][] = [
      ['list near its beginning', unfiltered(LIST, near)],
      [`cursor, depth ${deep}`, unfiltered(LIST, shuffled(cursors.slice(deep)))],
      ['totalCount', unfiltered(COUNT, near)],
      ['totalCount of one in eight', filtered(COUNT, [{ nameContains: 'support' }])],
      ...filters.map(([name, of]): [string, Asked[]] => [`filter: ${name}`, filtered(LIST, of)]),
      ['REST list near its beginning', offsets(0)],
      [`REST offset ${deep}`, offsets(deep)],
    ]
    const { url, pid } = server
    const all = entrants.map(([name, requests]): Entrant => ({ name, url, pid, requests }))
    return slownessTable(
      await race(place, all, { ...how, seconds: Math.min(how.seconds, ROUND_SECONDS) }, somethingChanges),
    )
  },
}
