import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { gitBody, useDomain, useTenant } from '../support/domain.ts'
import { claimOne, report } from '../support/holder.ts'

const domain = useDomain()
const ctx = useTenant(domain)

const CANARY = 'canary-5f1c0a'
const withSecrets = async (secrets: { name: string; value: string }[]) =>
  (await createDeployment(ctx, { body: { ...(await gitBody(ctx)), secrets } })).deploymentId
const patch = (id: string, secrets: { name: string; value: string }[]) =>
  updateDeployment(ctx, { path: { deployment_id: id }, body: { secrets } })

test('secrets are encrypted in every table of the database', async () => {
  await withSecrets([{ name: 'API_TOKEN', value: CANARY }])
  const tables = await domain.core.db.$queryRaw<{ name: string }[]>`
    SELECT table_name::text AS name FROM information_schema.tables WHERE table_schema = 'public'`
  for (const { name } of tables) {
    const rows = await domain.core.db.$queryRawUnsafe<{ text: string }[]>(`SELECT t::text AS text FROM "${name}" t`)
    for (const { text } of rows) {
      expect(text).not.toContain(CANARY)
      expect(text).not.toContain(Buffer.from(CANARY).toString('hex'))
    }
  }
})

test('a revision keeps the secrets it was made with', async () => {
  const id = await withSecrets([{ name: 'A', value: 'first' }])
  const claim = await claimOne(domain.plane, id)
  const { assignment } = await report(domain.plane, claim, claim.step!, 'succeeded')
  await patch(id, [{ name: 'A', value: 'second' }])
  expect(assignment.step!.revision!.secrets).toEqual([{ name: 'A', value: 'first' }])
  const done = await report(domain.plane, claim, assignment.step!, 'failed')
  expect(done.assignment.step!.revision!.secrets).toEqual([{ name: 'A', value: 'second' }])
})

test('a rotated key ring still reads old sets; a ring without their key does not', async () => {
  const [old, fresh] = [randomBytes(32), randomBytes(32)]
  const wrapped = new KeyRing([['old', old]]).wrap(Buffer.from('data key'), 'set')
  const rotated = new KeyRing([
    ['new', fresh],
    ['old', old],
  ])
  expect(rotated.currentId).toBe('new')
  expect(rotated.unwrap('old', wrapped, 'set').toString()).toBe('data key')
  expect(() => rotated.unwrap('old', wrapped, 'another set')).toThrow()
  expect(() => new KeyRing([['new', fresh]]).unwrap('old', wrapped, 'set')).toThrow('no key old')
})
