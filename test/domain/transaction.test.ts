// transaction(): what two writes that are in each other's way come to.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RequestContext, transaction } from '../../src/domain/context/context.ts'
import { gitDeployment, type TestDomain, testDomain } from '../support/domain.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

test('of two writes that wait for each other neither fails: the one that Postgres ends is made again', async () => {
  const [a, b] = [await gitDeployment(ctx), await gitDeployment(ctx)]
  let waiting = 2
  let goOn: () => void
  const both = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let tries = 0
  const write = (first: string, second: string) =>
    transaction(domain.core, async ({ sql }) => {
      tries++
      await sql.$executeRaw`UPDATE deployments SET idle = true WHERE id = ${first}::uuid`
      // each has its first row before either asks for its second
      if (--waiting === 0) goOn()
      await both
      await sql.$executeRaw`UPDATE deployments SET idle = true WHERE id = ${second}::uuid`
      return first
    })
  expect(await Promise.all([write(a, b), write(b, a)])).toEqual([a, b])
  expect(tries).toBe(3)
})
