import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KeyRing } from '../../src/domain/crypto/keyring.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { getDeployment } from '../../src/domain/deployments/read.ts'
import { revealSecret } from '../../src/domain/deployments/reveal-secret.ts'
import { updateDeployment } from '../../src/domain/deployments/update.ts'
import { MASK, openSecrets, presentSecrets } from '../../src/domain/secrets/secret-set.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { as, gitBody, type TestDomain, testDomain } from '../support/domain.ts'
import { claimOne } from '../support/holder.ts'

let domain: TestDomain
let ctx: RequestContext
beforeAll(async () => {
  domain = await testDomain()
  ctx = await domain.tenant()
})
afterAll(() => domain.close())

const CANARY = 'canary-5f1c0a'
const withSecrets = async (secrets: { name: string; value: string }[]) =>
  (await createDeployment(ctx, { body: { ...(await gitBody(ctx)), secrets } })).deploymentId
const patch = (id: string, secrets: { name: string; value: string }[]) =>
  updateDeployment(ctx, { path: { deployment_id: id }, body: { secrets } })
const read = (id: string) => getDeployment(ctx, { path: { deployment_id: id } })
const stored = async (id: string) => openSecrets(ctx.keyring, (await read(id)).secretSet)

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

test('only callers with secrets:read see values; all others see the mask', async () => {
  const id = await withSecrets([{ name: 'A', value: 'one' }])
  const { secretSet } = await read(id)
  expect(presentSecrets(ctx, secretSet)).toEqual([{ name: 'A', value: 'one' }])
  expect(presentSecrets(as(ctx, 'deployer'), secretSet)).toEqual([{ name: 'A', value: MASK }])
})

test('a session never shows values; a caller with secrets:read reveals one at a time', async () => {
  const id = await withSecrets([{ name: 'A', value: 'one' }])
  const { secretSet } = await read(id)
  const over = { ...ctx, actor: { ...ctx.actor, viaSession: true } }
  expect(presentSecrets(over, secretSet)).toEqual([{ name: 'A', value: MASK }])
  const path = { deployment_id: id }
  expect((await getDeployment(over, { path })).secretSet?.wrappedKey).toHaveLength(0)
  expect(await revealSecret(over, { path: { ...path, name: 'A' } })).toEqual({ name: 'A', value: 'one' })
  const may = { ...over, actor: { ...over.actor, secretsRead: false } }
  await expect(revealSecret(may, { path: { ...path, name: 'A' } })).rejects.toMatchObject({ code: 'FORBIDDEN' })
})

test('a mask in a request keeps the stored value; the rest of the set is replaced', async () => {
  const id = await withSecrets([
    { name: 'KEEP', value: 'kept' },
    { name: 'DROP', value: 'dropped' },
  ])
  await patch(id, [
    { name: 'KEEP', value: MASK },
    { name: 'NEW', value: 'new' },
  ])
  expect(await stored(id)).toEqual([
    { name: 'KEEP', value: 'kept' },
    { name: 'NEW', value: 'new' },
  ])
  await patch(id, [])
  expect(await stored(id)).toEqual([])
})

test.each([
  ['the mask for a name that is not stored', { name: 'UNKNOWN', value: MASK }, 'value'],
  ['a name that is not a valid environment variable', { name: '1X', value: 'v' }, 'name'],
  ['a name that is too long', { name: 'X'.repeat(257), value: 'v' }, 'name'],
  ['a name that the server sets', { name: 'DATABASE_URI', value: 'v' }, 'name'],
  ['a health path with a space', { name: 'PILOTHOUSE_HEALTH_PATH', value: '/is it up' }, 'value'],
  ['a value of more than 64 KiB', { name: 'BIG', value: 'x'.repeat(64 * 1024 + 1) }, 'value'],
])('%s is a violation at its field', async (_, secret, field) => {
  await expect(withSecrets([secret])).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    violations: [{ loc: ['body', 'secrets', 0, field] }],
  })
})

test('a name that occurs twice is refused', async () => {
  await expect(
    withSecrets([
      { name: 'A', value: '1' },
      { name: 'A', value: '2' },
    ]),
  ).rejects.toMatchObject({ violations: [{ loc: ['body', 'secrets', 1, 'name'] }] })
})

test('a revision keeps the secrets it was made with', async () => {
  const id = await withSecrets([{ name: 'A', value: 'first' }])
  const claim = await claimOne(domain.plane, id)
  const { assignment } = await domain.plane.complete({
    claimId: claim.claimId,
    token: claim.token,
    stepId: claim.step!.id,
    outcome: 'succeeded',
  })
  await patch(id, [{ name: 'A', value: 'second' }])
  expect(assignment.step!.revision!.secrets).toEqual([{ name: 'A', value: 'first' }])
  const done = await domain.plane.complete({
    claimId: claim.claimId,
    token: claim.token,
    stepId: assignment.step!.id,
    outcome: 'failed',
  })
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
