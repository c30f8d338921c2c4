/** docs/client.md#commands: list, status, open, call, revisions, redeploy, interrupt, scale and delete. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { move, ROLLOUT } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { gitDeployment, imageDeployment } from '../support/factories.ts'
import { startHttp } from '../support/web-server.ts'
import { command } from './support.ts'

const app = useApp()
let env: Record<string, string>
beforeAll(async () => {
  env = { PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.deployer }
})
const viewer = () => ({ ...env, CONTROL_PLANE_API_KEY: app.keys.viewer })
const stranger = () => ({ ...env, CONTROL_PLANE_API_KEY: app.other.keys.admin })
const yes = { ask: async () => 'y' }
const no = { ask: async () => '' }
const json = async (words: string[], as = env) => {
  const ran = await command([...words, '--json'], as)
  expect(ran.out, ran.err).not.toBe('')
  return { ...ran, value: JSON.parse(ran.out) }
}
const get = async (id: string) => (await app.rest('GET', `/v2/deployments/${id}`)).body
const rollOut = async (revisionId: string, statuses: Parameters<typeof move>[2] = ROLLOUT) =>
  move(await app.context(app.keys.admin), revisionId, statuses)

test('list shows the deployments, filtered by name and status, over several pages, without values of secrets', async () => {
  const made = []
  for (let n = 0; n < 3; n++) made.push(await gitDeployment(app, { secrets: [{ name: 'TOKEN', value: 'canary' }] }))
  const { value, out } = await json(['list', '--name', made[2]!.name.toUpperCase()], viewer())
  expect(value).toMatchObject({ outcome: 'done', deployments: [{ id: made[2]!.id, secrets: ['TOKEN'] }] })
  expect(out).not.toContain('canary')
  expect((await json(['list', '--limit', '2'])).value.deployments.map(({ id }: { id: string }) => id)).toEqual(
    [made[2], made[1]].map((it) => it!.id),
  )
  const table = await command(['list', '--status', 'awaiting_database'], env)
  expect(table.code, table.err).toBe(0)
  const ready = await command(['list', '--status', 'ready'], env)
  expect(ready).toMatchObject({ code: 0, out: '' })
  const all = await command(['list'], env)
  expect(all.out).toMatch(/^NAME +STATUS +SERVING +URL +ID\n/)
  expect(all.out).toContain(made[0]!.id)
  expect((await command(['list', '--status', 'sleepy'], env)).code).toBe(2)
})

test('status says how often the agent restarted, and why the last time', async () => {
  const { id, name, latest_revision_id } = await gitDeployment(app)
  expect((await command(['status', name], viewer())).out).not.toContain('restarts')
  const at = '2026-01-31T12:00:00.000Z'
  const cause = {
    at,
    reason: 'OUT_OF_MEMORY' as const,
    exitCode: 137,
    signal: null,
    message: 'It used too much memory.',
  }
  const restarts = { count: 3, last: { ...cause, revisionId: latest_revision_id }, seen: [], told: {} }
  await app.app.core.db.deployment.update({ where: { id }, data: { restarts } })
  const { out } = await command(['status', name], viewer())
  expect(out).toContain(`\n  restarts of the agent: 3, last ${at}: It used too much memory.\n`)
})

test('open prints the address, and opens the browser only on a terminal', async () => {
  const { id, name } = await gitDeployment(app, { access: 'public' })
  const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-browser-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [browser, opened] = [path.join(folder, 'browser'), path.join(folder, 'opened')]
  writeFileSync(browser, `#!/bin/sh\necho "$1" > ${opened}\n`)
  chmodSync(browser, 0o755)
  const none = await command(['open', name], env)
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining(`${name} has no address.`) })
  await app.app.core.db.deployment.update({ where: { id }, data: { url: 'https://agent.example.com' } })
  const withBrowser = { ...env, BROWSER: browser }
  expect(await command(['open', name], withBrowser)).toMatchObject({ code: 0, out: 'https://agent.example.com\n' })
  expect(existsSync(opened)).toBe(false)
  expect((await command(['open', id], withBrowser, undefined, yes)).code).toBe(0)
  await vi.waitFor(() => expect(readFileSync(opened, 'utf8')).toBe('https://agent.example.com\n'))
  rmSync(opened)
  expect((await command(['open', id, '--print'], withBrowser, undefined, yes)).code).toBe(0)
  expect(existsSync(opened)).toBe(false)
  await command(['deploy', name, '--access', 'workspace', '--no-wait'], env)
  const { out } = await command(['open', name], viewer())
  expect(out).toMatch(/^https:\/\/agent\.example\.com\/\?pilothouse_link=[\w-]+\.[\w-]+\.[\w-]+\n$/)
})

test('deploy --access alone changes the access, without a revision', async () => {
  const { id, name, latest_revision_id } = await gitDeployment(app)
  const { code } = await command(['deploy', name, '--access', 'organization', '--no-wait'], env)
  expect(code).toBe(0)
  expect((await app.rest('GET', `/v2/deployments/${id}`)).body).toMatchObject({
    ...{ access: 'organization', latest_revision_id },
  })
  expect((await command(['deploy', name, '--access', 'all'], env)).code).toBe(2)
})

test('deploy --idle-minutes alone changes them, and 0 returns to the default of the server', async () => {
  const { id, name, latest_revision_id } = await gitDeployment(app)
  const after = async (minutes: string) => {
    expect((await command(['deploy', name, '--idle-minutes', minutes, '--no-wait'], env)).code).toBe(0)
    return (await app.rest('GET', `/v2/deployments/${id}`)).body
  }
  expect(await after('30')).toMatchObject({ idle_minutes: 30, latest_revision_id })
  expect(await after('0')).toMatchObject({ idle_minutes: null, latest_revision_id })
  expect((await command(['deploy', name, '--idle-minutes', '10081'], env)).code).toBe(2)
})

test('call sends the key and the request to the agent, prints what it answers, and fails from 400 on', async () => {
  const { id, name } = await gitDeployment(app)
  const asked: { url?: string; headers: object; method?: string; body: string }[] = []
  const agent = await startHttp(async (request, response) => {
    const { url, headers, method } = request
    asked.push({ url: url!, headers, method: method!, body: await text(request) })
    response
      .writeHead(url === '/no' ? 404 : url === '/away' ? 302 : 200, { location: 'http://127.0.0.1:1/' })
      .end('a\nb')
  })
  onTestFinished(agent.close)
  const as = viewer()
  const key = as.CONTROL_PLANE_API_KEY
  expect(await command(['call', name, '/ok'], as)).toMatchObject({
    code: 1,
    err: expect.stringContaining('no address'),
  })
  await app.app.core.db.deployment.update({ where: { id }, data: { url: agent.origin } })
  expect(await command(['call', name, '/ok?a=1', '-H', 'X-A: b'], as)).toMatchObject({ code: 0, out: 'a\nb\n' })
  expect(asked.at(-1)).toMatchObject({ url: '/ok?a=1', method: 'GET', headers: { 'x-api-key': key, 'x-a': 'b' } })
  await command(['call', name, '/', '-d', '{}'], as)
  expect(asked.at(-1)).toMatchObject({ method: 'POST', body: '{}' })
  const { value, code } = await json(['call', name, '/no', '-X', 'delete'], as)
  expect([code, value]).toMatchObject([1, { status: 404, body: 'a\nb' }])
  expect(asked.at(-1)!.method).toBe('DELETE')
  // a redirect could lead the key elsewhere
  expect((await json(['call', name, '/away'], as)).value).toMatchObject({ status: 302 })
})

test('call sends the key only to the agent, and only if the agent is closed', async () => {
  const { id, name } = await gitDeployment(app, { access: 'public' })
  const asked: (string | undefined)[] = []
  const agent = await startHttp((request, response) => {
    asked.push(request.headers['x-api-key'] as string | undefined)
    response.end()
  })
  onTestFinished(agent.close)
  const { db } = app.app.core
  await db.deployment.update({ where: { id }, data: { url: agent.origin } })
  expect((await command(['call', name, '/'], env)).code).toBe(0)
  const image = await imageDeployment(app)
  await db.deployment.update({ where: { id: image.id }, data: { customUrl: agent.origin } })
  expect((await command(['call', image.name, '/'], env)).code).toBe(0)
  expect(asked).toEqual([undefined, undefined])
  await db.deployment.update({ where: { id }, data: { access: 'workspace', url: 'http://one.localhost:1' } })
  for (const path of ['/../~two/', '/..', 'ok'])
    expect(await command(['call', name, path], env)).toMatchObject({
      code: 2,
      err: expect.stringContaining('PATH must'),
    })
})

test('revisions lists the newest first and marks the active one; redeploy rolls one out again', async () => {
  const { id, name, latest_revision_id: first } = await gitDeployment(app)
  await rollOut(first)
  await app.app.core.db.deployment.update({ where: { id }, data: { activeRevisionId: first } })
  const { id: second } = (await app.rest('POST', `/v2/deployments/${id}/revisions`, { body: {} })).body
  await rollOut(second, ['QUEUED', 'AWAITING_BUILD', 'BUILDING', 'BUILD_FAILED'])
  const { value } = await json(['revisions', name], viewer())
  expect(value).toMatchObject({
    deployment_id: id,
    active_revision_id: first,
    revisions: [{ id: second }, { id: first }],
  })
  const table = await command(['revisions', name, '--limit', '1'], env)
  expect(table.out).toMatch(new RegExp(`^NO +STATUS +SOURCE +BY +CREATED +ID\n2 +BUILD_FAILED .* ${second}\n$`))
  const again = await json(['redeploy', name, '--revision', first, '--no-wait'])
  expect(again.value).toMatchObject({ outcome: 'done', deployment_id: id, revision_id: first })
  const latest = await json(['redeploy', name, '--no-wait'])
  expect(latest.value.revision_id).toBe(second)
  expect((await command(['redeploy', name, '--no-wait'], env)).code).toBe(1)
  expect((await command(['redeploy', name, '--no-wait'], viewer())).code).toBe(3)
  expect((await command(['redeploy', id, '--no-wait'], stranger())).code).toBe(1)
})

test('interrupt ends the newest rollout; without an open one it fails', async () => {
  const { id, name, latest_revision_id } = await gitDeployment(app)
  expect((await command(['interrupt', name], viewer())).code).toBe(3)
  expect((await command(['interrupt', id], stranger())).code).toBe(1)
  const { value } = await json(['interrupt', name])
  expect(value).toMatchObject({ outcome: 'done', revision: { id: latest_revision_id, status: 'INTERRUPTED' } })
  expect(await command(['interrupt', name], env)).toMatchObject({ code: 1, err: expect.stringContaining('CONFLICT') })
})

test('scale changes only the given members, also by two people at the same moment', async () => {
  const { id, name } = await gitDeployment(app)
  const spec = async () => (await get(id)).source_config.resource_spec
  const first = await json(['scale', name, '--cpu', '0.5', '--memory', '1024'])
  expect(first.value.resource_spec).toMatchObject({ cpu: 0.5, memory_mb: 1024 })
  const both = await Promise.all([
    command(['scale', name, '--replicas', '3'], env),
    command(['scale', name, '--memory', '2048'], env),
  ])
  expect(both.map(({ code }) => code)).toEqual([0, 0])
  expect(await spec()).toMatchObject({ cpu: 0.5, memory_mb: 2048, min_scale: 3, max_scale: 3 })
  const before = await spec()
  for (const wrong of [[], ['--cpu', 'many'], ['--replicas', '2', '--min', '1'], ['--min', '5', '--max', '1']])
    expect((await command(['scale', name, ...wrong], env)).code, wrong.join(' ')).toBe(2)
  expect((await command(['scale', name, '--replicas', '2'], viewer())).code).toBe(3)
  expect((await command(['scale', id, '--replicas', '2'], stranger())).code).toBe(1)
  expect(await spec()).toEqual(before)
})

test('delete asks on a terminal, and needs --yes without one', async () => {
  const { id, name } = await gitDeployment(app)
  expect(await command(['delete', name], env)).toMatchObject({ code: 2, err: expect.stringContaining('--yes') })
  expect(await command(['delete', name], env, undefined, no)).toMatchObject({ code: 1, err: 'Cancelled.\n' })
  expect((await command(['delete', name, '--yes'], viewer())).code).toBe(3)
  expect((await command(['delete', id, '--yes'], stranger())).code).toBe(1)
  expect(await get(id)).toMatchObject({ id })
  expect((await command(['delete', name], env, undefined, yes)).code).toBe(0)
  expect(await get(id)).toMatchObject({ code: 'NOT_FOUND' })
  expect(await command(['delete', name, '--yes'], env)).toMatchObject({ code: 1, err: expect.stringContaining(name) })
})
