/** Secrets over REST (docs/deployments.md#secrets): who sees values, and the meaning of a returned mask. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodies, type RestApp, restApp, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const MASK = '••••••••'
const SECRETS = [
  { name: 'TOKEN', value: 'very-secret' },
  { name: 'EMPTY', value: '' },
]
const MASKED = SECRETS.map(({ name }) => ({ name, value: MASK }))
const create = () => app.create({ ...bodies.gitprovider(app.tenant.integrationId), secrets: SECRETS })
const path = (id: string) => `/v2/deployments/${id}`

test('admins and readers of secrets see values, deployers and viewers the mask', async () => {
  const { id, secrets } = await create()
  expect(secrets).toEqual(SECRETS)
  const seen = async (key: string) => (await app.call('GET', path(id), { key })).body.secrets
  expect(await seen(app.keys.secretsReader)).toEqual(SECRETS)
  expect(await seen(app.keys.deployer)).toEqual(MASKED)
  expect(await seen(app.keys.viewer)).toEqual(MASKED)
})

test('the answers of writes and lists are masked too', async () => {
  const key = app.keys.deployer
  const body = { ...bodies.gitprovider(app.tenant.integrationId), secrets: SECRETS }
  const created = await app.create(body, { key })
  expect(created.secrets).toEqual(MASKED)
  expect((await app.call('PATCH', path(created.id), { key, body: {} })).body.secrets).toEqual(MASKED)
  const list = await app.call('GET', '/v2/deployments', { key })
  expect(list.text).not.toContain('very-secret')
})

test('the returned mask keeps the stored value', async () => {
  const { id } = await create()
  const secrets = [MASKED[0], { name: 'NEW', value: '1' }]
  const answer = await app.call('PATCH', path(id), { key: app.keys.deployer, body: { secrets } })
  expect(answer.status).toBe(200)
  expect((await app.call('GET', path(id))).body.secrets).toEqual([SECRETS[0], { name: 'NEW', value: '1' }])
})

test('the mask for an unknown name is 422', async () => {
  const { id } = await create()
  const body = { secrets: [{ name: 'OTHER', value: MASK }] }
  expect(violations(await app.call('PATCH', path(id), { body }))).toEqual(['body.secrets.0.value value_error'])
})

test('a 422 does not repeat the value', async () => {
  const body = { ...bodies.internal_container(), secrets: [{ name: '1BAD', value: 'very-secret' }] }
  const answer = await app.call('POST', '/v2/deployments', { body })
  expect(answer.status).toBe(422)
  expect(answer.text).not.toContain('very-secret')
  const malformed = await app.call('POST', '/v2/deployments', { body: '{"secrets": [{"value": "very-secret" oops' })
  expect(malformed.status).toBe(422)
  expect(malformed.text).not.toContain('very-secret')
})
