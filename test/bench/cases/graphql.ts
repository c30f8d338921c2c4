/** Reads over GraphQL, with the same document for all servers as far as their schemas allow. */
import type { Asked } from '../load/orders.ts'
import { type Comparison, compare } from '../measure/compare.ts'
import { comparisonTable } from '../measure/report.ts'
import type { Place } from '../place/place.ts'
import type { Case } from './case.ts'

const PAGE = `query Page($first: Int!, $after: String) { deployments(first: $first, after: $after) { edges { cursor node {
  id name source createdAt updatedAt
  latestRevision { id number status createdAt } activeRevision { id number status createdAt }
  listener { id computeId lastSeenAt } } } } }`
const POSTGRAPHILE_PAGE = `query Page($first: Int!, $after: Cursor, $workspace: UUID!) {
  allDeployments(first: $first, after: $after, orderBy: [CREATED_AT_DESC, ROW_ID_DESC], condition: { workspaceId: $workspace, tornDownAt: null }) {
    edges { cursor node { rowId name source createdAt updatedAt
    revisionByLatestRevisionId { rowId number status createdAt } revisionByActiveRevisionId { rowId number status createdAt }
    listenerByListenerId { rowId computeId lastSeenAt } } } } }`

const REVISION = 'id number status createdAt'
const ONE = (revisions: string) => `query One($id: ID!) { deployment(id: $id) { id name source createdAt updatedAt
  listener { id computeId lastSeenAt } ${revisions} } }`
const POSTGRAPHILE_ONE = `query One($id: UUID!) { deploymentByRowId(rowId: $id) { rowId name source createdAt updatedAt
  listenerByListenerId { rowId computeId lastSeenAt }
  revisionsByDeploymentId(first: 10, orderBy: NUMBER_DESC) { nodes { rowId number status createdAt } } } }`

const post = (query: string, variables: object): Asked => ({
  path: '/graphql',
  body: JSON.stringify({ query, variables }),
})

/** Returns the cursors of the newest `count` deployments from that server. */
export async function cursorsOf(
  { seeded }: Place,
  url: string,
  count: number,
  query: string,
  variables: object,
): Promise<string[]> {
  const cursors: string[] = []
  for (let after: string | null = null; cursors.length < count; after = cursors.at(-1)!) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': seeded.keys[cursors.length % seeded.keys.length]!, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: { ...variables, first: 100, after } }),
    })
    const { data, errors } = (await response.json()) as {
      data: Record<string, { edges: { cursor: string }[] }>
      errors?: unknown
    }
    if (errors) throw new Error(JSON.stringify(errors))
    cursors.push(...Object.values(data)[0]!.edges.map(({ cursor }) => cursor))
  }
  return cursors
}

/** Returns the values in a fixed pseudo-random order. */
export function shuffled<T>(values: readonly T[]): T[] {
  const step = 7_919
  return values.map((_value, at) => values[(at * step) % values.length]!)
}

function page(id: string, first: number, repeated: boolean): Comparison {
  const graphql = (query: string, variables: (place: Place) => object) => async (place: Place, url: string) => {
    const fixed = variables(place)
    if (repeated) return [post(query, { ...fixed, first, after: null })]
    const cursors = await cursorsOf(place, url, place.seeded.rows.length - 100, query, fixed)
    return shuffled(cursors).map((after) => post(query, { ...fixed, first, after }))
  }
  const alike = graphql(PAGE, () => ({}))
  const handWritten = ({ seeded }: Place): Asked[] =>
    repeated
      ? [{ path: `/list?limit=${first}` }]
      : shuffled(seeded.rows).map((row) => ({
          path: `/list?limit=${first}&after=${encodeURIComponent(`${row.createdAt},${row.id}`)}`,
        }))
  return {
    id,
    requests: {
      pilothouse: alike,
      postgraphile: graphql(POSTGRAPHILE_PAGE, ({ seeded }) => ({ workspace: seeded.workspaceId })),
      mercurius: alike,
      stock: alike,
      'hand-written': handWritten,
    },
    // invalidates the cached answers of the previous round
    between: somethingChanges,
  }
}

/** Writes to each workspace, as in real use. */
export async function somethingChanges({ call, seeded }: Place): Promise<void> {
  await call('PATCH', `/v2/deployments/${seeded.rows.at(-1)!.id}`, {
    source_revision_config: { image_uri: `registry.example.com/acme/agent:${Date.now()}` },
  })
}

const one =
  (query: string) =>
  ({ seeded }: Place) =>
    shuffled(seeded.rows).map(({ id }) => post(query, { id }))

const oneWithTen: Comparison = {
  id: 'one',
  requests: {
    pilothouse: one(ONE(`revisions(first: 10) { edges { node { ${REVISION} } } }`)),
    postgraphile: one(POSTGRAPHILE_ONE),
    mercurius: one(ONE(`revisions(first: 10) { nodes { ${REVISION} } }`)),
    stock: one(ONE(`revisions(first: 10) { edges { node { ${REVISION} } } }`)),
    'hand-written': ({ seeded }) => shuffled(seeded.rows).map(({ id }) => ({ path: `/one/${id}` })),
  },
  between: somethingChanges,
}

export const comparing = (what: string, comparison: Comparison): Case => ({
  id: comparison.id,
  what,
  run: async (open, how) => comparisonTable(await compare(await open(), comparison, how)),
})

const list20 = page('list20', 20, false)
/** The load after which memory is measured. */
export const PAGE_REQUESTS = list20.requests.pilothouse!
export const ONE_REQUESTS = oneWithTen.requests.pilothouse!

export const graphqlCases: Case[] = [
  comparing('GraphQL: 20 deployments with latest and active revision and listener, every request different', list20),
  comparing('GraphQL: 100 of them, every request different', page('list100', 100, false)),
  comparing('GraphQL: 20 of them, the same request repeated', page('repeated', 20, true)),
  comparing('GraphQL: one deployment with its newest ten revisions', oneWithTen),
]
