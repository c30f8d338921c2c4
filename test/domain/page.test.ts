/** Compares the searched pages of deployments with pages of a simple query, for each filter, order and position. */
import { beforeAll, expect, test } from 'vitest'
import { type DeploymentFilter, filterSql, filterTables } from '../../src/domain/deployments/filter.ts'
import { type DeploymentOrder, deploymentCursor, keysetSql, orderSql } from '../../src/domain/deployments/order.ts'
import { pageSql } from '../../src/domain/deployments/page.ts'
import type { Window } from '../../src/domain/paging/paging.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { asAdmin } from '../support/database.ts'
import { useDomain, useTenant } from '../support/domain.ts'
import { manyDeployments } from '../support/many.ts'

const domain = useDomain()
const ctx = useTenant(domain)
let filters: Record<string, DeploymentFilter>
beforeAll(async () => {
  const { db, workspace } = ctx
  const add = (computeId: string, lastSeenAt: Date) =>
    db.listener.create({
      data: { workspaceId: workspace.id, computeType: 'k8s', computeId, k8sNamespaces: [], lastSeenAt },
    })
  const [silent, heard] = [await add('silent', new Date(0)), await add('heard', new Date(Date.now() + 3_600_000))]
  await manyDeployments(domain.url, workspace.id, 2500)
  const [rare, frequent] = await Promise.all(
    ['rare', 'frequent'].map((value) => db.tag.create({ data: { workspaceId: workspace.id, key: 'team', value } })),
  )
  // on a connection without a statement timeout
  await asAdmin(domain.url, async (client) => {
    // most deployments serve, some of each kind do not, and the oldest have their own listener
    await client.query(`
      UPDATE deployments SET claim_id = gen_random_uuid(), lease_holder = 'x', lease_expires_at = now() + interval '1 hour', health = '{"ready": 1}'
      WHERE image_version <> '7'`)
    await client.query(
      `UPDATE deployments SET lease_expires_at = now() - interval '1 hour' WHERE image_version = '8' AND lease_holder IS NOT NULL`,
    )
    await client.query(`UPDATE deployments SET health = '{"ready": 0}' WHERE image_version = '9'`)
    await client.query(
      `UPDATE deployments SET listener_id = $1 WHERE image_version = '10' AND created_at < now() - interval '1 day'`,
      [silent.id],
    )
    await client.query(`UPDATE deployments SET listener_id = $1 WHERE image_version IN ('11', '12')`, [heard.id])
    await client.query(
      `UPDATE deployments SET name = name || '-qÜ.x' WHERE image_version = '13' AND created_at < now() - interval '36 hours'`,
    )
    await client.query(
      `INSERT INTO deployment_tags (deployment_id, tag_id)
       SELECT id, $1::uuid FROM deployments WHERE image_version < '3'
       UNION ALL SELECT id, $2::uuid FROM deployments WHERE image_version = '1' AND created_at < now() - interval '30 hours'`,
      [frequent!.id, rare!.id],
    )
  })
  const oldest = await db.deployment.findFirstOrThrow({ orderBy: { createdAt: 'asc' } })
  filters = {
    none: {},
    'a name that many have': { name_contains: 'AGENT-' },
    'a part of one name': { name_contains: oldest.name.slice(8, 20) },
    'two letters': { name_contains: 'a0' },
    'two letters in a few names': { name_contains: 'Qü' },
    'a letter in a few names': { name_contains: 'Ü' },
    'a name of nobody': { name_contains: '%' },
    'a name and more': { name_contains: 'a1', source: 'gitprovider', status: 'READY' },
    serving: { serving: true },
    'not serving': { serving: false },
    'not serving, rare': { serving: false, image_version: '8' },
    'serving, none': { serving: true, status: 'AWAITING_DELETE' },
    unknown: { status: 'UNKNOWN' },
    deleting: { status: 'AWAITING_DELETE' },
    unused: { status: 'UNUSED' },
    'rare tag': { tag_value_ids: [rare!.id] },
    'frequent tag': { tag_value_ids: [frequent!.id] },
    'both tags': { tag_value_ids: [rare!.id, frequent!.id], serving: false },
    'no such tag': { tag_value_ids: [silent.id] },
    failed: { latest_revision_status: ['BUILD_FAILED', 'QUEUED'] },
    waits: { latest_revision_waits: true },
    'does not wait': { latest_revision_waits: false },
    listener: { listener_id: heard.id },
  }
})

interface Row {
  id: string
  attention: number
  name: string
  createdAt: Date
  updatedAt: Date
}

/** Up to 20 rows in list order. `from`: 21 rows from the window's start, or with `last` from its end. */
async function pageOf(from: Prisma.Sql, order: DeploymentOrder, { last }: Window): Promise<Row[]> {
  const backward = last !== undefined
  const { text, values } = Prisma.sql`
    SELECT d.id, d.attention, d.name, d.created_at AS "createdAt", d.updated_at AS "updatedAt"
    FROM ${from} ORDER BY ${orderSql(order, backward)} LIMIT 21`
  const { rows } = await domain.database.pools.api.query<Row>(text, values)
  return backward ? rows.slice(0, 20).reverse() : rows.slice(0, 20)
}

const simply = (filter: DeploymentFilter, order: DeploymentOrder, window: Window) =>
  pageOf(
    Prisma.sql`(
      SELECT d.* FROM ${filterTables(filter)}
      WHERE ${filterSql(ctx, filter)} AND ${keysetSql(order, window) ?? Prisma.sql`true`}) d`,
    order,
    window,
  )

const searched = (filter: DeploymentFilter, order: DeploymentOrder, window: Window) =>
  pageOf(pageSql(ctx, filter, order, window, 21, window.last !== undefined), order, window)

for (const by of ['ATTENTION', 'CREATED_AT', 'UPDATED_AT', 'NAME'] as const)
  test(`pages by ${by} have the same rows as a simple query, forwards and backwards`, async () => {
    for (const [name, filter] of Object.entries(filters))
      for (const direction of ['asc', 'desc'] as const) {
        const order = { by, direction }
        const end = (await simply(filter, order, {})).at(-1)
        const windows: Window[] = [{}, { last: 20 }, ...(end ? [{ after: deploymentCursor(order, end) }] : [])]
        for (const window of windows)
          expect(await searched(filter, order, window), `${name} ${direction}`).toEqual(
            await simply(filter, order, window),
          )
      }
  })
