/** Tests totals: exact for small lists, and an estimate for large ones. */
import { beforeAll, expect, test } from 'vitest'
import { countByStatus, countDeployments } from '../../src/domain/deployments/count.ts'
import { countEvents, countWorkspaceEvents } from '../../src/domain/events/list.ts'
import { countDeploymentsOf } from '../../src/domain/listeners/read.ts'
import { EXACT_UP_TO } from '../../src/domain/paging/total.ts'
import { asAdmin } from '../support/database.ts'
import { useDomain, useTenant } from '../support/domain.ts'
import { manyDeployments } from '../support/many.ts'

const MANY = 12_000

const domain = useDomain()
const ctx = useTenant(domain)
beforeAll(async () => {
  await manyDeployments(domain.url, ctx.workspace.id, MANY)
})

test('a total is exact up to 10,000, and above that a marked estimate', async () => {
  const all = await countDeployments(ctx, {})
  expect(all.isEstimate).toBe(true)
  expect(all.count).toBeGreaterThan(EXACT_UP_TO)
  expect(Math.abs(all.count - MANY)).toBeLessThan(MANY / 4)
  expect(await countDeployments(ctx, { source: 'gitprovider' })).toEqual({ count: MANY / 2, isEstimate: false })
  expect(await countDeployments(ctx, { latest_revision_status: ['BUILD_FAILED'] })).toEqual({
    count: MANY / 500,
    isEstimate: false,
  })
  // a low estimate is still greater than the exact limit
  const live = await countDeployments(ctx, { serving: false })
  expect(live.isEstimate).toBe(true)
  expect(live.count).toBeGreaterThan(EXACT_UP_TO)
  // the overview is exact in any case
  expect((await countByStatus(ctx, {})).total).toBe(MANY)
})

test('totals per list item are counted together, and large ones are estimated one by one', async () => {
  const { id } = await ctx.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'big', k8sNamespaces: [] },
  })
  const other = await ctx.db.listener.create({
    data: { workspaceId: ctx.workspace.id, computeType: 'k8s', computeId: 'small', k8sNamespaces: [] },
  })
  // on a connection without a statement timeout
  await asAdmin(domain.url, async (client) => {
    await client.query('UPDATE deployments SET listener_id = $1 WHERE workspace_id = $2', [id, ctx.workspace.id])
    await client.query('ANALYZE deployments')
  })
  const totals = await countDeploymentsOf(ctx, [id, other.id])
  expect(totals.get(id)).toMatchObject({ isEstimate: true })
  expect(totals.get(id)!.count).toBeGreaterThan(EXACT_UP_TO)
  expect(totals.get(other.id)).toEqual({ count: 0, isEstimate: false })
  const one = await ctx.db.deployment.findFirstOrThrow()
  expect((await countEvents(ctx, { by: 'deploymentId', ids: [one.id] })).get(one.id)).toEqual({
    count: 1,
    isEstimate: false,
  })
})

test('the number of a workspace’s events is exact for any size', async () => {
  expect(await countWorkspaceEvents(ctx, {})).toEqual({ count: MANY, isEstimate: false })
  const typed = await countWorkspaceEvents(ctx, { types: ['revision.status'] })
  expect(typed.isEstimate).toBe(true)
})
