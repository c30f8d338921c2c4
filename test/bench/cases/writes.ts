/** Writes over REST. */
import { randomBytes } from 'node:crypto'
import type { Asked } from '../load/orders.ts'
import type { Comparison } from '../measure/compare.ts'
import type { Place } from '../place/place.ts'
import type { Seeded } from '../place/seed.ts'
import type { Case } from './case.ts'
import { comparing, shuffled } from './graphql.ts'

/** More than a run sends, because each name can be used once. */
const CREATED = 20_000

const create = ({ seeded }: Place): Asked[] => {
  const run = randomBytes(4).toString('hex')
  return Array.from({ length: CREATED }, (_, n) => ({
    path: '/v2/deployments',
    body: JSON.stringify({
      name: `bench-${run}-${n}`,
      source: 'external_container',
      source_config: {
        listener_id: seeded.listenerIds[n % seeded.listenerIds.length],
        listener_config: { k8s_namespace: 'agents' },
      },
      source_revision_config: { image_uri: 'registry.example.com/acme/agent:1' },
      secrets: [],
    }),
  }))
}

type Rows = Seeded['rows']

/** A separate deployment for each request, so that no request changes what another has just written. */
const apart = (requests: (rows: Rows) => Asked[]): Comparison['requests'] => ({
  pilothouse: ({ seeded }) => requests(shuffled(seeded.rows.filter((_row, at) => at % 2 === 0))),
  'hand-written': ({ seeded }) => requests(shuffled(seeded.rows.filter((_row, at) => at % 2 === 1))),
})

export const PATCHES = (rows: Rows): Asked[] =>
  rows.map(({ id }, n) => ({
    method: 'PATCH',
    path: `/v2/deployments/${id}`,
    body: JSON.stringify({ source_revision_config: { image_uri: `registry.example.com/acme/agent:new-${n}` } }),
  }))

/**
 * Redeploys the newest revision of each, then the previous one, then the newest again: each time the other has been
 * superseded.
 */
const redeploy = (rows: Rows): Asked[] =>
  (['revisionId', 'revisionBeforeId'] as const).flatMap((which) =>
    rows.map((row) => ({
      method: 'POST',
      path: `/v2/deployments/${row.id}/revisions/${row[which]}/redeploy`,
      body: '{}',
    })),
  )

export const writeCases: Case[] = [
  comparing('REST: create a deployment', {
    id: 'create',
    status: 201,
    requests: { pilothouse: create, 'hand-written': create },
  }),
  comparing('REST: PATCH with a new revision', { id: 'patch', requests: apart(PATCHES) }),
  comparing('REST: redeploy of a revision', { id: 'redeploy', requests: apart(redeploy) }),
]
