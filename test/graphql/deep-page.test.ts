/** A page behind 10,000 others costs as much as the first: one statement that reads an index from the cursor on. */
import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { deploymentCursor } from '../../src/domain/deployments/order.ts'
import { useApp } from '../support/app.ts'
import { asAdmin } from '../support/database.ts'
import { listener } from '../support/factories.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))
beforeAll(async () => {
  await seed((await listener(app)).id)
})

/** Creates 10,050 deployments of a listener, each with one revision that is both latest and active. */
async function seed(listenerId: string): Promise<void> {
  await asAdmin(app.databaseUrl, async (admin) => {
    await admin.query(
      `INSERT INTO deployments (id, workspace_id, name, source, listener_id, created_at, updated_at, provisioned_at)
       SELECT gen_random_uuid(), $1, 'app ' || i, 'external_container', $2, now() - i * interval '1 s', now(), now()
       FROM generate_series(1, 10050) AS i`,
      [app.tenant.workspaceId, listenerId],
    )
    await admin.query(
      `INSERT INTO revisions (id, deployment_id, number, rollout, status, source, updated_at)
       SELECT gen_random_uuid(), id, 1, 1, 'DEPLOYED', source, now() FROM deployments`,
    )
    await admin.query(
      `UPDATE deployments d SET latest_revision_id = r.id, active_revision_id = r.id FROM revisions r WHERE r.deployment_id = d.id`,
    )
    await admin.query('ANALYZE')
  })
}

const PAGE = `query ($after: String) { deployments(first: 50, after: $after) {
  nodes { id name status latestRevision { id } activeRevision { id } listener { id } } pageInfo { hasNextPage } } }`

/** The cursor of the `place`th deployment, newest first. */
async function cursorAt(place: number): Promise<string> {
  const order = { by: 'CREATED_AT', direction: 'desc' } as const
  const row = await app.app.core.db.deployment.findFirstOrThrow({
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: place - 1,
  })
  return deploymentCursor(order, row)
}

/** The statements sent to Postgres while `work` runs. */
async function sentDuring(work: () => Promise<unknown>): Promise<pg.QueryConfig[]> {
  const { api: pool } = app.app.database.pools
  const sent: pg.QueryConfig[] = []
  const original = pool.query
  const observed = (...args: [pg.QueryConfig]) => {
    sent.push(args[0])
    return Reflect.apply(original, pool, args)
  }
  pool.query = observed as typeof original
  await work()
  pool.query = original
  return sent
}

interface Plan {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Rows Removed by Filter'?: number
  Plans?: Plan[]
}

/** All table scans in the plan of a statement. */
async function scansOf({ text, values }: pg.QueryConfig): Promise<Plan[]> {
  const explained = `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`
  const { rows } = await asAdmin(app.databaseUrl, (admin) => admin.query(explained, values))
  const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)]
  return all(rows[0]['QUERY PLAN'][0].Plan).filter((plan) => plan['Relation Name'] !== undefined)
}

test.each([5_000, 10_000])('a page behind %i others costs as much as the first', async (place) => {
  const after = await cursorAt(place)
  // another page, because the answer of the first would be cached
  await app.gql(PAGE)
  let page = { nodes: [] as { name: string }[], pageInfo: {} }
  const sent = await sentDuring(async () => {
    page = (await app.gql(PAGE, { after })).data.deployments
  })
  expect(page.nodes.map(({ name }) => name)).toEqual(Array.from({ length: 50 }, (_, i) => `app ${place + i + 1}`))
  expect(page.pageInfo).toEqual({ hasNextPage: place < 10_000 })

  expect(sent).toHaveLength(1)
  const scans = await scansOf(sent[0]!)
  const ofDeployments = scans.filter((scan) => scan['Relation Name'] === 'deployments')
  expect(ofDeployments).toMatchObject([{ 'Node Type': 'Index Scan' }])
  const [scan] = ofDeployments
  // one extra row shows whether there is a next page; the other is the cursor's row
  expect(scan!['Actual Rows'] + (scan!['Rows Removed by Filter'] ?? 0)).toBeLessThanOrEqual(52)
  const ofRevisions = scans.filter((one) => one['Relation Name'] === 'revisions')
  expect(ofRevisions.map((one) => one['Node Type'])).toEqual(['Index Only Scan', 'Index Only Scan'])
})
