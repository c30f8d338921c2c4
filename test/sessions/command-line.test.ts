/** The URL that opens the dashboard signed in. Only a terminal and the command line print it. */
import { spawn, spawnSync } from 'node:child_process'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { serverCommand } from '../client/support.ts'
import { useApp } from '../support/app.ts'
import { cli, ROOT, run } from '../support/process.ts'
import { asPage, openSession, signIn } from './support.ts'

vi.setConfig({ testTimeout: 60_000 })

const app = useApp()
let env: Record<string, string>
beforeAll(async () => {
  env = { DATABASE_URL: app.databaseUrl, DATA_DIR: app.dataDir, SECRETS_KEYS: app.secretsKeys, WORKER: 'off' }
})

const ADDRESS = /^http:\/\/127\.0\.0\.1:\d+\/sign-in#code=([\w-]{43})$/m
const here = () => ['--organization-id', app.tenant.organizationId]

test('the command line prints only a URL to stdout, which works once', async () => {
  const made = await cli(['server', 'dashboard', ...here()], { ...env, PORT: '8080' })
  expect(made, made.stderr).toMatchObject({ code: 0 })
  const [line, code] = ADDRESS.exec(made.stdout)!
  expect(made.stdout).toBe(`${line}\n`)
  const page = await signIn(app, { code: code! })
  const headers = { 'x-tenant-id': app.sibling.workspaceId }
  const { data } = await app.gql('{ me { role organizationWide actor { kind } } }', {}, asPage(page, headers))
  expect(data.me).toEqual({ role: 'admin', organizationWide: true, actor: { kind: 'command_line' } })
  expect((await openSession(app, { code })).status).toBe(401)
})

test('the command line lists sessions and ends one immediately', async () => {
  const page = await signIn(app, { api_key: app.keys.deployer })
  const listed = await serverCommand(['server', 'sessions', 'list'], env)
  expect(listed.stdout).toMatch(new RegExp(`^${page.id} +deployer +valid until \\S+ +\\S+ +api_key test`, 'm'))
  const asked = async () => (await app.rest('GET', '/v2/deployments', asPage(page))).status
  expect(await asked()).toBe(200)
  expect(await serverCommand(['server', 'sessions', 'revoke', page.id], env)).toMatchObject({
    code: 0,
    stdout: `Ended ${page.id}\n`,
  })
  await expect.poll(asked).toBe(401)
  expect((await serverCommand(['server', 'sessions', 'list'], env)).stdout).toMatch(
    new RegExp(`^${page.id} +deployer +ended`, 'm'),
  )
  expect(await serverCommand(['server', 'sessions', 'revoke', 'x'], env)).toMatchObject({ code: 2 })
  const [others, open] = [
    await serverCommand(['server', 'dashboard', ...here()], env),
    await signIn(app, { api_key: app.keys.viewer }),
  ]
  expect(await serverCommand(['server', 'sessions', 'revoke', '--all'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Ended \d+ sessions\n$/),
  })
  await expect.poll(async () => (await app.rest('GET', '/v2/deployments', asPage(open))).status).toBe(401)
  expect((await openSession(app, { code: ADDRESS.exec(others.stdout)![1] })).status).toBe(401)
})

test('a URL for one workspace opens no other workspace', async () => {
  const made = await serverCommand(['server', 'dashboard', '--workspace', app.tenant.workspaceId], env)
  const page = await signIn(app, { code: ADDRESS.exec(made.stdout)![1]! })
  const asked = (tenant: string) => app.rest('GET', '/v2/deployments', asPage(page, { 'x-tenant-id': tenant }))
  expect((await asked(app.tenant.workspaceId)).status).toBe(200)
  expect((await asked(app.sibling.workspaceId)).status).toBe(403)
})

test('keys and revocations over a command-line session have the command line as actor', async () => {
  const made = await serverCommand(['server', 'dashboard', '--workspace', app.tenant.workspaceId], env)
  const page = await signIn(app, { code: ADDRESS.exec(made.stdout)![1]! })
  const mutation =
    'mutation { createApiKey(input: { name: "ci", role: viewer }) { ... on CreateApiKeySuccess { apiKey { id createdBy } } } }'
  const { data } = await app.gql(mutation, {}, asPage(page))
  expect(data.createApiKey.apiKey.createdBy).toBe('command_line')
  const events = await app.app.core.db.event.findMany({
    where: { subjectId: { in: [data.createApiKey.apiKey.id, page.id] } },
  })
  expect(events.map(({ type, actorKind, actor }) => [type, actorKind, actor]).sort()).toEqual([
    ['api_key.created', 'command_line', null],
    ['session.created', 'command_line', null],
  ])
})

test('a server without a terminal prints no URL', async () => {
  const server = run('main', [], { ...env, PORT: '0' })
  onTestFinished(() => void server.child.kill('SIGKILL'))
  await vi.waitFor(() => expect(server.output.stderr).toContain('/docs'), 30_000)
  server.child.kill('SIGTERM')
  const { stdout, stderr } = await server.ended
  expect(stdout + stderr).not.toContain('code=')
})

test.skipIf(spawnSync('script', ['--version']).error)('a server on a terminal prints a URL', async () => {
  const child = spawn('script', ['-qefc', `${process.execPath} src/start/start.mjs main`, '/dev/null'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env, PORT: '0', LOG_FORMAT: 'json' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let shown = ''
  child.stdout.on('data', (text) => {
    shown += text
  })
  await vi.waitFor(() => expect(shown).toContain('prints another URL'), 30_000)
  const code = /sign-in#code=([\w-]{43})/.exec(shown)![1]!
  expect((await openSession(app, { code })).status).toBe(201)
  // its log contains JSON lines without the URL
  for (const line of shown.split('\n').filter((one) => one.startsWith('{'))) expect(line).not.toContain(code)
})
