/** Tests offset pages at any depth, also after earlier pages were read and after changes. */
import { beforeAll, expect, test } from 'vitest'
import { listDeployments } from '../../src/domain/deployments/read.ts'
import { countStatements } from '../support/database.ts'
import { useDomain, useTenant } from '../support/domain.ts'
import { manyDeployments } from '../support/many.ts'

const domain = useDomain()
const ctx = useTenant(domain)
beforeAll(async () => {
  await manyDeployments(domain.url, ctx.workspace.id, 1_500)
})

const idsAt = async (offset: number, query: Record<string, string> = {}) => {
  const page = await listDeployments(ctx, { query: { ...query, limit: '20', offset: String(offset) } })
  return page.resources.map(({ id }) => id)
}

/** In list order, read by Prisma. */
const allIds = async (where: object = {}) => {
  const rows = await ctx.db.deployment.findMany({
    where: { workspaceId: ctx.workspace.id, tornDownAt: null, ...where },
    select: { id: true },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  })
  return rows.map(({ id }) => id)
}

const OFFSETS = [900, 480, 1_200, 905, 1_470, 700, 930, 1, 699, 1_499, 1_500, 3_000, 920]

test('an offset page takes one statement and has the right rows after any earlier pages', async () => {
  const all = await allIds()
  for (const offset of [...OFFSETS, ...OFFSETS]) {
    let page: string[] = []
    const statements = await countStatements(domain.database, async () => {
      page = await idsAt(offset)
    })
    expect(page, String(offset)).toEqual(all.slice(offset, offset + 20))
    expect(statements).toHaveLength(1)
  }
})

test('after a deployment was removed, later offset pages shift by one', async () => {
  const all = await allIds()
  await idsAt(900)
  await ctx.db.deployment.update({ where: { id: all[3] }, data: { tornDownAt: new Date() } })
  const fewer = all.filter((id) => id !== all[3])
  for (const offset of OFFSETS) expect(await idsAt(offset)).toEqual(fewer.slice(offset, offset + 20))
})

test('each filter has its own offsets', async () => {
  const some = await allIds({ source: 'gitprovider' })
  const named = await allIds({ name: { contains: 'agent-a' } })
  for (const offset of [300, 600, 610, 0]) {
    expect(await idsAt(offset, { source: 'gitprovider' })).toEqual(some.slice(offset, offset + 20))
    expect(await idsAt(offset, { name_contains: 'AGENT-' })).toEqual((await allIds()).slice(offset, offset + 20))
  }
  for (const offset of [1, 20, 40, 80])
    expect(await idsAt(offset, { name_contains: 'agent-a' })).toEqual(named.slice(offset, offset + 20))
})
