/** docs/client.md#commands: keys, listeners, events and api. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitDeployment, listener } from '../support/factories.ts'
import { run } from '../support/process.ts'
import { command, troubled } from './support.ts'

const app = useApp(() => ({ settings: { OUTBOUND_ALLOW: '127.0.0.1' } }))
let env: Record<string, string>
beforeAll(async () => {
  env = { PILOTHOUSE_URL: app.url, CONTROL_PLANE_API_KEY: app.keys.admin }
})
const as = (key: string) => ({ ...env, CONTROL_PLANE_API_KEY: key })
const yes = { ask: async () => 'y' }
const statusOf = async (key: string) => (await app.rest('GET', '/v2/deployments', { key })).status

describe('keys', () => {
  test('create prints only the key, which list shows without its text, and revoke ends it', async () => {
    const made = await command(['keys', 'create', '--role', 'viewer', '--name', 'ci', '--expires-in-days', '1'], env)
    expect(made, made.err).toMatchObject({ code: 0, out: expect.stringMatching(/^cpk_\S+\n$/) })
    const key = made.out.trim()
    expect(await statusOf(key)).toBe(200)
    const { keys } = JSON.parse((await command(['keys', 'list', '--json'], env)).out)
    const found = keys.find(({ prefix }: { prefix: string }) => key.startsWith(prefix))
    expect(found).toMatchObject({ name: 'ci', role: 'viewer', revoked_at: null, expires_at: expect.any(String) })
    const table = await command(['keys', 'list'], env)
    expect(table.out).toContain(`${found.prefix}…`)
    expect(table.out).not.toContain(key)
    expect((await command(['keys', 'revoke', found.id], env)).code).toBe(2)
    expect((await command(['keys', 'revoke', found.id], env, undefined, yes)).code).toBe(0)
    expect((await command(['keys', 'revoke', found.id, '--yes'], env)).code).toBe(0)
    expect(await statusOf(key)).toBe(401)
    expect((await command(['keys', 'list'], env)).out).toMatch(new RegExp(`revoked .*${found.id}`))
  })

  test('of a lost answer is named, so that it can be revoked', async () => {
    const { url } = await troubled(app.url, ['swallow'])
    const words = ['keys', 'create', '--role', 'viewer', '--name', 'lost-answer', '--json']
    const ran = await command(words, { ...env, PILOTHOUSE_URL: url })
    const { id } = await app.app.core.db.apiKey.findFirstOrThrow({ where: { name: 'lost-answer' } })
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(`pilothouse keys revoke ${id}`) })
    expect(JSON.parse(ran.out).error.detail).toContain(id)
  })

  test('refuse an unknown role, a role that is too low, and another tenant’s key', async () => {
    const create = (role: string, key = app.keys.admin) =>
      command(['keys', 'create', '--role', role, '--name', 'x'], as(key))
    expect((await create('owner')).code).toBe(2)
    expect((await create('listener')).code).toBe(2)
    expect((await create('viewer', app.keys.deployer)).code).toBe(3)
    const own = JSON.parse((await command(['keys', 'list', '--json'], as(app.keys.viewer))).out)
    expect(own.keys).toMatchObject([{ role: 'viewer' }])
    const { id } = (await app.rest('GET', '/v2/me', { key: app.other.keys.viewer })).body.api_key
    expect((await command(['keys', 'revoke', id, '--yes'], env)).code).toBe(1)
    expect(await statusOf(app.other.keys.viewer)).toBe(200)
  })
})

describe('listeners', () => {
  test('are created, listed and deleted', async () => {
    const words = ['listeners', 'create', 'prod-eu', '--namespace', 'agents', '--namespace', 'staging']
    const made = await command(words, env)
    expect(made, made.err).toMatchObject({ code: 0, err: expect.stringContaining('keys create --role listener') })
    const id = made.out.trim()
    expect(await command(words, env)).toMatchObject({ code: 1, err: expect.stringContaining('ALREADY_EXISTS') })
    const { listeners } = JSON.parse((await command(['listeners', 'list', '--json'], as(app.keys.viewer))).out)
    expect(listeners).toMatchObject([
      { id, compute_id: 'prod-eu', compute_config: { k8s_namespaces: ['agents', 'staging'] } },
    ])
    expect((await command(['listeners', 'list'], env)).out).toMatch(/^NAME .*\nprod-eu .*agents,staging/)
    expect((await command(['listeners', 'delete', id], env)).code).toBe(2)
    expect((await command(['listeners', 'delete', id], env, undefined, yes)).code).toBe(0)
    expect((await command(['listeners', 'delete', id, '--yes'], env)).code).toBe(1)
  })

  test('need a namespace and an admin', async () => {
    expect((await command(['listeners', 'create', 'x'], env)).code).toBe(2)
    const { id } = await listener(app)
    const words = ['listeners', 'create', 'x', '--namespace', 'a']
    expect((await command(words, as(app.keys.deployer))).code).toBe(3)
    expect((await command(['listeners', 'delete', id, '--yes'], as(app.keys.deployer))).code).toBe(3)
    expect((await command(['listeners', 'delete', id, '--yes'], as(app.other.keys.admin))).code).toBe(1)
  })
})

describe('webhooks', () => {
  const jsonOf = async (...words: string[]) => JSON.parse((await command([...words, '--json'], env)).out)

  test('are created, tested, listed and deleted, and their deliveries are listed and replayed', async () => {
    const url = 'https://127.0.0.1:1/hook'
    const made = await command(['webhooks', 'create', url, '--name', 'ops', '--event', 'deployment.*'], env)
    expect(made, made.err).toMatchObject({ code: 0, out: expect.stringMatching(/^whsec_\S+\n$/) })
    const { webhook_endpoints } = await jsonOf('webhooks', 'list')
    expect(webhook_endpoints).toMatchObject([{ name: 'ops', url, form: 'standard', event_types: ['deployment.*'] }])
    const [{ id }] = webhook_endpoints
    const tested = await command(['webhooks', 'test', id], env)
    expect(tested).toMatchObject({ code: 1, err: expect.stringMatching(/^The endpoint refused the connection\.\n$/) })
    const { id: deploymentId } = await gitDeployment(app)
    await vi.waitFor(
      async () =>
        expect((await jsonOf('webhooks', 'deliveries', id)).deliveries).toMatchObject([
          { event_type: 'deployment.created', deployment_id: deploymentId, state: 'pending' },
        ]),
      10_000,
    )
    expect(await jsonOf('webhooks', 'deliveries', id, '--state', 'dead')).toMatchObject({ deliveries: [] })
    expect((await command(['webhooks', 'replay', id], env)).out).toBe('0 deliveries are sent again.\n')
    expect((await command(['webhooks', 'delete', id], env)).code).toBe(2)
    expect((await command(['webhooks', 'delete', id], env, undefined, yes)).code).toBe(0)
    expect((await command(['webhooks', 'delete', id, '--yes'], env)).code).toBe(1)
  })

  test('need an admin, and a public address', async () => {
    expect((await command(['webhooks', 'list'], as(app.keys.deployer))).code).toBe(3)
    expect((await command(['webhooks', 'create', 'https://10.0.0.1/', '--name', 'x'], env)).code).toBe(2)
  })
})

describe('alerts', () => {
  test('have rules, which are created, listed and deleted', async () => {
    const { id: deploymentId, name } = await gitDeployment(app)
    const words = ['alerts', 'create', 'restarts', '--name', 'crashes', '--threshold', '2', '--deployment', name]
    const made = await command(words, as(app.keys.deployer))
    expect(made, made.err).toMatchObject({ code: 0 })
    const id = made.out.trim()
    const { alert_rules } = JSON.parse((await command(['alerts', 'rules', '--json'], as(app.keys.viewer))).out)
    expect(alert_rules).toMatchObject([
      { id, kind: 'restarts', threshold: 2, minutes: 10, deployment_id: deploymentId },
    ])
    expect((await command(['alerts', 'list', '--state', 'firing', '--json'], env)).out).toContain('"alerts": []')
    expect((await command(['alerts', 'delete', id, '--yes'], as(app.other.keys.admin))).code).toBe(1)
    expect((await command(['alerts', 'delete', id], env, undefined, yes)).code).toBe(0)
    expect((await command(['alerts', 'rules'], env)).out).not.toContain(id)
  })

  test('refuse an unknown kind, a wrong threshold and a role that is too low', async () => {
    const create = (kind: string, threshold: string, key = app.keys.admin) =>
      command(['alerts', 'create', kind, '--name', 'x', '--threshold', threshold], as(key))
    expect((await create('weather', '1')).code).toBe(2)
    expect((await create('restarts', 'many')).code).toBe(2)
    expect((await create('restarts', '0')).code).toBe(2)
    expect((await create('restarts', '1', app.keys.viewer)).code).toBe(3)
  })
})

describe('events', () => {
  test('of a deployment are the newest, oldest first, and can be filtered', async () => {
    const { id, name } = await gitDeployment(app)
    const { out } = await command(['events', name, '--json'], as(app.keys.viewer))
    const types = JSON.parse(out).events.map(({ type }: { type: string }) => type)
    expect(types[0]).toBe('deployment.created')
    expect(types).toContain('revision.status')
    const some = await command(['events', id, '--type', 'deployment.created', '--last', '1'], env)
    expect(some.out).toMatch(new RegExp(`^\\S+  deployment.created  ${id}  .*\n$`))
    const whole = JSON.parse((await command(['events', '--last', '2', '--json'], env)).out)
    expect(whole.events).toHaveLength(2)
    expect((await command(['events', '--type', 'nothing'], env)).code).toBe(2)
    expect((await command(['events', id], as(app.other.keys.admin))).code).toBe(1)
  })

  test('are followed until the process is ended by Ctrl-C', async () => {
    const { id } = await gitDeployment(app)
    const words = ['events', '-f', '--json', '--type', 'deployment.*', '--last', '1']
    const { child, output, ended } = run('cli', words, env)
    const types = () =>
      output.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).type)
    await vi.waitFor(() => expect(types()).toEqual(['deployment.created']), 10_000)
    await app.rest('DELETE', `/v2/deployments/${id}`)
    await vi.waitFor(() => expect(types()).toContain('deployment.deleted'), 10_000)
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
  })
})

describe('api', () => {
  test('prints the body of the answer, and with --include its head', async () => {
    const ran = await command(['api', 'GET', '/v2/me'], as(app.keys.viewer))
    expect(ran, ran.err).toMatchObject({ code: 0 })
    expect(JSON.parse(ran.out)).toMatchObject({ role: 'viewer', workspace: { id: app.tenant.workspaceId } })
    const head = await command(['api', 'GET', '/v2/deployments?limit=1', '--include'], env)
    expect(head.out).toMatch(/^HTTP 200\n(.+: .*\n)+etag: .*\n(.+: .*\n)*\n\{"resources"/)
    const json = JSON.parse((await command(['api', 'GET', '/v2/me', '--json'], env)).out)
    expect(json).toMatchObject({ outcome: 'done', status: 200, body: { role: 'admin' } })
  })

  test('sends a body from the command line or a file, with headers, once', async () => {
    const { id } = await gitDeployment(app)
    const folder = mkdtempSync(path.join(os.tmpdir(), 'pilothouse-api-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const file = path.join(folder, 'tags.json')
    writeFileSync(file, JSON.stringify({ tags: [{ key: 'team', value: 'search' }] }))
    const put = await command(['api', 'PUT', `/v2/deployments/${id}/tags`, '--data', `@${file}`], env)
    expect(JSON.parse(put.out)).toMatchObject({ resources: [{ key: 'team', value: 'search' }] })
    const graphql = await command(['api', 'POST', '/graphql', '-d', '{"query": "{ me { role } }"}'], env)
    expect(JSON.parse(graphql.out)).toEqual({ data: { me: { role: 'admin' } } })
    const create = [
      'api',
      'POST',
      '/v2/keys',
      '-d',
      '{"name": "api", "role": "viewer"}',
      '-H',
      'Idempotency-Key: api-1',
    ]
    const [first, again] = [await command(create, env), await command(create, env)]
    expect(JSON.parse(again.out).api_key).toEqual(JSON.parse(first.out).api_key)
    const { api_key } = JSON.parse(first.out)
    expect(await command(['api', 'DELETE', `/v2/keys/${api_key.id}`], env)).toMatchObject({ code: 0, out: '' })
  })

  test.each([
    [1, ['GET', '/v2/nothing']],
    [2, ['GET', '/v2/deployments?limit=0']],
    [2, ['GET', 'https://elsewhere.example/v2/me']],
    [2, ['GET', '/v2/me', '-d', '{}']],
    [2, ['FETCH', '/v2/me']],
    [2, ['POST', '/v2/keys', '-d', '@/nowhere/x.json']],
    [2, ['POST', '/v2/keys', '-d', '{malformed']],
    [2, ['GET', '/v2/me', '-H', 'no header']],
  ])('exits with %i for %j', async (code, words) => {
    const ran = await command(['api', ...words, '--json'], env)
    expect(ran, ran.err).toMatchObject({ code })
    expect(JSON.parse(ran.out)).toHaveProperty('error.detail')
  })

  test('exits with 3 for a wrong credential, and never sends it to another host', async () => {
    expect((await command(['api', 'GET', '/v2/me'], as('cpk_unknown'))).code).toBe(3)
    expect((await command(['api', 'GET', '//elsewhere.example/v2/me'], env)).code).not.toBe(0)
  })
})
