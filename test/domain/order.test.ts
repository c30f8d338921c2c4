/** The orders of deployments, and the pages that cursors bound. */
import { beforeAll, expect, test } from 'vitest'
import { type DeploymentOrder, deploymentCursor, keysetSql, orderSql } from '../../src/domain/deployments/order.ts'
import { ValidationError } from '../../src/domain/errors/errors.ts'
import type { Window } from '../../src/domain/paging/paging.ts'
import { Prisma } from '../../src/generated/prisma/client.ts'
import { useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)
beforeAll(async () => {
  // some rows have equal times, and names differ in case and in collation
  await ctx.db.$executeRaw`
    INSERT INTO deployments (id, workspace_id, name, source, created_at, updated_at)
    SELECT gen_random_uuid(), ${ctx.workspace.id}::uuid, (ARRAY['a-', 'B_', 'ä ', 'A.', '💡'])[1 + n % 5] || n, 'gitprovider',
           now() - (n / 3) * interval '1 hour', now() - (n % 4) * interval '1 day'
    FROM generate_series(1, 24) AS n`
})

const orders = (['ATTENTION', 'CREATED_AT', 'UPDATED_AT', 'NAME'] as const).flatMap((by) =>
  (['asc', 'desc'] as const).map((direction): DeploymentOrder => ({ by, direction })),
)

const COLUMNS = {
  ATTENTION: ['attention', 'updatedAt'],
  CREATED_AT: ['createdAt'],
  UPDATED_AT: ['updatedAt'],
  NAME: ['name'],
} as const

test('a page has the rows between its cursors, in each order, direction and position', async () => {
  for (const order of orders) {
    const orderBy = [...COLUMNS[order.by], 'id'].map((column) => ({ [column]: order.direction }))
    const all = await ctx.db.deployment.findMany({ orderBy })
    const cursorAt = (at: number) => deploymentCursor(order, all[at]!)
    const windows: [number, number][] = [0, 6, 11, 23].flatMap((at): [number, number][] => [
      [at, 24],
      [-1, at],
      [at, (at + 19) % 24],
    ])
    for (const [after, before] of [[-1, 24] as const, ...windows])
      for (const backward of [false, true]) {
        const window: Window = {
          ...(after >= 0 ? { after: cursorAt(after) } : {}),
          ...(before < 24 ? { before: cursorAt(before) } : {}),
        }
        const { text, values } = Prisma.sql`
          SELECT d.id FROM deployments d WHERE ${keysetSql(order, window) ?? Prisma.sql`true`}
          ORDER BY ${orderSql(order, backward)} LIMIT 7`
        const between = all.slice(after + 1, Math.max(before, 0)).map(({ id }) => ({ id }))
        const expected = backward ? between.reverse().slice(0, 7) : between.slice(0, 7)
        expect((await domain.database.pools.api.query(text, values)).rows).toEqual(expected)
      }
  }
})

test('a cursor of another order is rejected', () => {
  const cursor = deploymentCursor(
    { by: 'NAME', direction: 'asc' },
    { id: crypto.randomUUID(), attention: 0, name: 'a', createdAt: new Date(), updatedAt: new Date() },
  )
  for (const window of [{ after: cursor }, { before: cursor }])
    expect(() => keysetSql({ by: 'CREATED_AT', direction: 'desc' }, window)).toThrow(ValidationError)
})
