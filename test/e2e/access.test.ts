// Who may call an agent: a real server, its door and an agent that answers with the request's headers.
import path from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentUrl } from '../../src/client/find.ts'
import type { DeploymentAccess } from '../../src/generated/prisma/enums.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { supervisorsOf } from '../support/steady/supervisors.ts'

/** Answers with headers and environment. */
const ECHO = `node -e "require('http').createServer((q, r) => q.url === '/ok' ? r.end() : r.end(JSON.stringify({ path: q.url, headers: q.headers, env: process.env }))).listen(process.env.PORT)"`

let app: TestApp
let repository: AgentRepository
let id: string
let url: string

beforeAll(async () => {
  app = await testApp({ settings: { WORKER: 'on', APPS_PORT: '0' } })
  repository = await agentRepository(path.join(app.dataDir, 'git'), 'echo', ECHO)
  await repository.push('echo')
  id = (await gitDeployment(app, { source_config: { repo_url: repository.url } })).id
  const find = async () => (await app.rest('GET', `/v2/deployments/${id}`)).body
  while ((await find()).url === null) await app.rest('GET', `/v2/deployments/${id}?wait=5`)
  ;({ url } = await find())
})
afterAll(async () => {
  await app?.close()
  await repository?.remove()
})

/** Takes effect within moments. */
async function setAccess(access: DeploymentAccess): Promise<void> {
  const answer = await app.rest('PATCH', `/v2/deployments/${id}`, { body: { access } })
  expect(answer.body).toMatchObject({ access })
}
const call = (headers: Record<string, string> = {}, to = url) => fetch(`${to}/x`, { headers, redirect: 'manual' })
const statusFor = async (key: string | null, to = url) =>
  (await call(key === null ? {} : { 'x-api-key': key }, to)).status
const becomes = (key: string | null, status: number) =>
  expect.poll(() => statusFor(key), { interval: 100 }).toBe(status)

test('an agent answers to keys of its workspace, by host and by path, and learns who calls', async () => {
  const caller = await app.rest('POST', '/v2/keys', { body: { name: 'calls', role: 'caller' } })
  await setAccess('workspace')
  await becomes(null, 401)
  await becomes(caller.body.key, 200)
  const refused = await call()
  expect(refused.headers.get('www-authenticate')).toBe('Bearer realm="pilothouse"')
  expect(await refused.json()).toMatchObject({ code: 'UNAUTHENTICATED' })
  for (const to of [url, agentUrl(url)]) {
    expect(await statusFor(null, to)).toBe(401)
    expect(await statusFor(app.keys.viewer, to)).toBe(200)
    expect(await statusFor(app.keys.organization, to)).toBe(200)
    expect(await statusFor(caller.body.key, to)).toBe(200)
    expect(await statusFor(app.sibling.keys.admin, to)).toBe(403)
    expect(await statusFor(app.other.keys.admin, to)).toBe(403)
  }
  const answer = await call({ authorization: `Bearer ${app.keys.viewer}`, 'x-pilothouse-caller': 'forged' })
  const { headers, env } = (await answer.json()) as { headers: Record<string, string>; env: object }
  expect(JSON.stringify({ headers, env })).not.toContain(app.keys.viewer)
  expect(headers).not.toHaveProperty('authorization')
  const keys = createRemoteJWKSet(new URL(`${app.url}/.well-known/jwks.json`))
  const options = { issuer: app.app.publicUrl(), audience: id }
  const { payload } = await jwtVerify(headers['x-pilothouse-caller']!, keys, options)
  expect(payload).toMatchObject({ role: 'viewer', workspace: app.tenant.workspaceId, deployment: id })
})

test('unknown hosts and closed deployments look alike', async () => {
  await setAccess('workspace')
  await becomes(null, 401)
  const { port } = new URL(url)
  const unknown = `http://nobody.localhost:${port}`
  const pairs: Record<string, string>[] = [{}, { 'x-api-key': 'cpk_wrong' }, { 'x-api-key': app.other.keys.admin }]
  for (const headers of pairs) {
    const [known, other] = [await call(headers), await call(headers, unknown)]
    expect([other.status, await other.text()]).toEqual([known.status, await known.text()])
  }
})

test.skipIf(process.platform !== 'linux')('an agent whose keeper is away is not unknown', async () => {
  await setAccess('public')
  await becomes(null, 200)
  process.kill(supervisorsOf(app.dataDir).keepers[0]!, 'SIGKILL')
  await expect.poll(() => statusFor(null), { interval: 5 }).toBe(503)
  await becomes(null, 200)
})

test('the organization’s other workspaces get in when its access says so, and everybody when it is public', async () => {
  await setAccess('organization')
  await becomes(null, 401)
  expect(await statusFor(app.sibling.keys.viewer)).toBe(200)
  expect(await statusFor(app.other.keys.admin)).toBe(403)
  await setAccess('public')
  await becomes(null, 200)
})

test('a signed link opens the agent in a browser, until the key of its maker is revoked', async () => {
  await setAccess('workspace')
  await becomes(null, 401)
  const { body: made } = await app.rest('POST', '/v2/keys', { body: { name: 'linker', role: 'viewer' } })
  const created = await app.rest('POST', `/v2/deployments/${id}/links`, { key: made.key, body: { path: '/x?y=1' } })
  expect(created.status, created.text).toBe(201)
  const open = () => fetch(created.body.url, { redirect: 'manual' })
  await expect.poll(async () => (await open()).status).toBe(303)
  const opened = await open()
  expect(opened.headers.get('location')).toBe('/x?y=1')
  const cookie = opened.headers.get('set-cookie')!.split(';')[0]!
  const answer = await call({ cookie })
  expect(answer.status).toBe(200)
  expect(JSON.stringify(await answer.json())).not.toContain(cookie)
  await app.rest('DELETE', `/v2/keys/${made.api_key.id}`)
  await expect.poll(async () => (await call({ cookie })).status, { timeout: 5000, interval: 100 }).toBe(401)
  expect((await open()).status).toBe(401)
})

test('a revoked key is refused within 5 seconds', async () => {
  await setAccess('workspace')
  const created = await app.rest('POST', '/v2/keys', { body: { name: 'soon revoked', role: 'viewer' } })
  const { key, api_key: stored } = created.body
  expect(created.status, created.text).toBe(201)
  await becomes(key, 200)
  const revoked = await app.rest('DELETE', `/v2/keys/${stored.id}`)
  expect(revoked.status, revoked.text).toBeLessThan(300)
  await expect.poll(() => statusFor(key), { timeout: 5000, interval: 100 }).toBe(401)
})
