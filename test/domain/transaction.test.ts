// Tests transaction() with conflicting writes.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RequestContext, transaction } from '../../src/domain/transaction/context.ts'
import { crossedWrites } from '../support/deadlock.ts'
import { gitDeployment, type TestDomain, testDomain } from '../support/domain.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

test('when two writes deadlock, the one that Postgres aborts is retried and both succeed', async () => {
  const [a, b] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  const crossed = crossedWrites()
  const write = (first: string, second: string) =>
    transaction(domain.core, async ({ sql }) => {
      await crossed.change(sql, first, second)
      return first
    })
  expect(await Promise.all([write(a, b), write(b, a)])).toEqual([a, b])
  expect(crossed.tries).toBe(3)
})
