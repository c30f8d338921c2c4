/** docs/client.md#commands: list, open, revisions, redeploy, interrupt, scale and delete. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { move, ROLLOUT } from '../realtime/support.ts'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
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

test('open prints the address, and opens the browser only on a terminal', async () => {
  const { id, name } = await gitDeployment(app)
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
