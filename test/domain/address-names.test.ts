/** Names of deployments in their addresses: DNS labels that no two deployments of the installation share. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { addressNameOf } from '../../src/domain/deployments/address-name.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { gitBody, useDomain, useTenant } from '../support/domain.ts'

const domain = useDomain()
const [ctx, other] = [useTenant(domain), useTenant(domain)]

async function nameOf(by: RequestContext, name: string): Promise<string | null> {
  const { deploymentId } = await createDeployment(by, { body: { ...(await gitBody(by)), name } })
  const { addressName } = await domain.core.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })
  return addressName
}

test.for([
  ['my-agent', 'my-agent'],
  ['My Agent_2!', 'my-agent-2'],
  ['--Ünïcode--', 'unicode'],
  ['xn--bcher-kva', 'xn-bcher-kva'],
  ['a'.repeat(100), 'a'.repeat(40)],
  [`${'a'.repeat(39)}-b`, 'a'.repeat(39)],
])('the name of %s becomes %s', ([name, label]) => {
  expect(addressNameOf(name!, false)).toBe(label)
})

test('a name without Latin letters or digits gets a random one', () => {
  expect(addressNameOf('エージェント', false)).toMatch(/^agent-[0-9a-f]{8}$/)
})

test('a deployment whose name another workspace uses gets a suffix, also when both are created at once', async () => {
  const name = `shared-${randomUUID().slice(0, 8)}`
  const names = await Promise.all([nameOf(ctx, name), nameOf(other, name)])
  const label = addressNameOf(name, false)
  expect(names).toContain(label)
  expect(names.find((one) => one !== label)).toMatch(new RegExp(`^${label}-[0-9a-f]{8}$`))
})
