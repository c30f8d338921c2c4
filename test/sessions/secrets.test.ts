/** Secrets over a session (docs/deployments.md#secrets): only a reveal shows a value. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { asPage, signIn } from './support.ts'

let app: TestApp
let id: string
beforeAll(async () => {
  app = await testApp()
  id = (await gitDeployment(app, { secrets: [{ name: 'TOKEN', value: 'the-value' }] })).id
})
afterAll(() => app.close())

const of = (api_key: string) => signIn(app, { api_key })

test('a change over a session answers masks, also to an admin, and its event names the subject', async () => {
  const session = await of(app.keys.admin)
  const body = { set: [{ name: 'NEW', value: 'another-value' }] }
  const answer = await app.rest('PATCH', `/v2/deployments/${id}/secrets`, { ...asPage(session), body })
  expect(answer.status).toBe(200)
  expect(answer.body.secrets.map(({ name }: { name: string }) => name)).toEqual(['TOKEN', 'NEW'])
  expect(answer.text).not.toMatch(/the-value|another-value/)
  const list = await app.rest('GET', `/v2/deployments/${id}/secrets`, asPage(session))
  expect(list.body.resources[1]).toMatchObject({ name: 'NEW', set_by: { kind: 'api_key' } })
})

test('a session reveals one value only to a caller who may read values', async () => {
  const reveal = async (key: string) =>
    app.rest('POST', `/v2/deployments/${id}/secrets/TOKEN/reveal`, asPage(await of(key)))
  const answer = await reveal(app.keys.secretsReader)
  expect([answer.status, answer.body]).toEqual([200, { name: 'TOKEN', value: 'the-value' }])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect((await reveal(app.keys.deployer)).status).toBe(403)
  expect((await reveal(app.sibling.keys.admin)).status).toBe(404)
  const { text } = await app.rest('GET', `/v2/deployments/${id}/events`)
  expect(text).toContain('secret.revealed')
  expect(text).not.toContain('the-value')
})
