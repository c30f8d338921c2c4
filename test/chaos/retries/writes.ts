/** The writes of the retry storm, of every kind. Each has a unique mark by which its effects are counted afterwards. */
import { randomUUID } from 'node:crypto'
import type { Place } from '../events/place.ts'

export interface Write {
  key: string
  kind: string
  method: string
  path: string
  body: object
  /** The mark that must exist exactly once at the end: `<table>.<mark>`. */
  leaves: string[]
}

const image = (mark: string) => `registry.example.com/agent:${mark}`
export const newDeployment = (name: string) => ({
  name,
  source: 'internal_container',
  source_config: {},
  source_revision_config: {},
  secrets: [{ name: 'TOKEN', value: name }],
})

const graphql = (query: string, variables: object) => ({ method: 'POST', path: '/graphql', body: { query, variables } })
const ERRORS = '... on Error { code message }'
const UPDATE = (alias: string) => `${alias}: updateDeployment(input: $${alias}) { ... on UpdateDeploymentSuccess {
  deployment { id name secrets { name value } updatedAt } revision { id number } } ${ERRORS} }`
const TWO_UPDATES = `mutation ($one: UpdateDeploymentInput!, $two: UpdateDeploymentInput!) { ${UPDATE('one')} ${UPDATE('two')} }`
const CREATE = `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) {
  ... on CreateDeploymentSuccess { deployment { id secrets { name value } } revision { id number createdAt } } ${ERRORS} } }`
const TAG = `mutation ($input: SetDeploymentTagsInput!) { setDeploymentTags(input: $input) {
  ... on SetDeploymentTagsSuccess { deployment { id tags { id key value } } } ${ERRORS} } }`

type Sent = Pick<Write, 'method' | 'path' | 'body' | 'leaves'>

/** `id`: a deployment that many of the writes change. */
const KINDS: Record<string, (mark: string, id: string) => Sent> = {
  create: (mark) => ({ method: 'POST', path: '/v2/deployments', body: newDeployment(mark), leaves: [`names.${mark}`] }),
  'create (GraphQL)'(mark) {
    const { source_config: sourceConfig, source_revision_config: sourceRevisionConfig, ...rest } = newDeployment(mark)
    return { ...graphql(CREATE, { input: { ...rest, sourceConfig, sourceRevisionConfig } }), leaves: [`names.${mark}`] }
  },
  update: (mark, id) => ({
    method: 'PATCH',
    path: `/v2/deployments/${id}`,
    body: { source_revision_config: { image_uri: image(mark) }, secrets: [{ name: 'TOKEN', value: mark }] },
    leaves: [`images.${image(mark)}`],
  }),
  'two updates (GraphQL)'(mark, deploymentId) {
    const to = (imageUri: string) => ({ deploymentId, sourceRevisionConfig: { imageUri } })
    const [one, two] = [image(`${mark}-1`), image(`${mark}-2`)]
    return { ...graphql(TWO_UPDATES, { one: to(one), two: to(two) }), leaves: [`images.${one}`, `images.${two}`] }
  },
  revise: (mark, id) => ({
    method: 'POST',
    path: `/v2/deployments/${id}/revisions`,
    body: { source_revision_config: { image_uri: image(mark) } },
    leaves: [`images.${image(mark)}`],
  }),
  'tag (GraphQL)': (mark, deploymentId) => ({
    ...graphql(TAG, { input: { deploymentId, tags: [{ key: 'mark', value: mark }] } }),
    leaves: [`tags.${mark}`],
  }),
  register: (mark) => ({
    method: 'POST',
    path: '/v2/listeners',
    body: { compute_type: 'k8s', compute_id: mark, compute_config: { k8s_namespaces: ['agents'] } },
    leaves: [`listeners.${mark}`],
  }),
}

/** Returns `count` writes, spread over these deployments. */
export function writesTo(deployments: readonly string[], count: number): Write[] {
  const kinds = Object.entries(KINDS)
  return Array.from({ length: count }, (_, n) => {
    const [kind, make] = kinds[n % kinds.length]!
    return { key: randomUUID(), kind, ...make(`w${n}`, deployments[n % deployments.length]!) }
  })
}

/** Counts how often each mark exists. */
export async function left(place: Place): Promise<Map<string, number>> {
  const rows = await place.rows<{ mark: string; times: number }>(`
    SELECT 'names.' || name AS mark, count(*)::int AS times FROM deployments GROUP BY 1
    UNION ALL SELECT 'images.' || image_uri, count(*)::int FROM revisions WHERE image_uri IS NOT NULL GROUP BY 1
    UNION ALL SELECT 'tags.' || value, count(*)::int FROM tags GROUP BY 1
    UNION ALL SELECT 'listeners.' || compute_id, count(*)::int FROM listeners GROUP BY 1`)
  return new Map(rows.map(({ mark, times }) => [mark, times]))
}
