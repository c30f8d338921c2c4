/** Compares the orders and keyset pages of deployments from Prisma with those from SQL. */
import { beforeAll, expect, test } from 'vitest'
import {
  type DeploymentOrder,
  deploymentCursor,
  keysetOf,
  keysetSql,
  orderOf,
  orderSql,
} from '../../src/domain/deployments/order.ts'
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

test('SQL and Prisma return the same page in each order, direction and position', async () => {
  for (const order of orders) {
    const all = await ctx.db.deployment.findMany({ orderBy: orderOf(order) })
    const windows = [0, 6, 11, 23].flatMap((at): Window[] => {
      const row = all[at]!
      return [
        { after: deploymentCursor(order, row) },
        { before: deploymentCursor(order, row) },
        { after: deploymentCursor(order, row), before: deploymentCursor(order, all.at(at - 5)!) },
      ]
    })
    for (const window of [{}, ...windows])
      for (const backward of [false, true]) {
        const where = { AND: keysetOf(order, window) }
        const asked = await ctx.db.deployment.findMany({
          where,
          orderBy: orderOf(order, backward),
          take: 7,
          select: { id: true },
        })
        const { text, values } = Prisma.sql`
          SELECT d.id FROM deployments d WHERE ${keysetSql(order, window) ?? Prisma.sql`true`}
          ORDER BY ${orderSql(order, backward)} LIMIT 7`
        expect((await domain.database.pool.query(text, values)).rows).toEqual(asked)
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
