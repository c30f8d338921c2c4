// Tests transaction() with conflicting writes.
import { expect, test } from 'vitest'
import { transaction } from '../../src/domain/transaction/context.ts'
import { crossedWrites } from '../support/deadlock.ts'
import { gitDeployment, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const ctx = useTenant(domain)

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
