/** The first experience with a new server: its front page, its log in a terminal, the demo. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '../../src/app/logger.ts'
import { VERSION } from '../../src/platform/files/checkout.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { run } from '../support/process.ts'

let app: TestApp
const lines: Record<string, unknown>[] = []
beforeAll(async () => {
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  app = await testApp({
    settings: { WORKER: 'on', RUNTIME: 'process', APPS_PORT: '0' },
    overrides: { log },
  })
})
afterAll(() => app.close())

test('the front page is the dashboard; without JavaScript it lists the APIs, and all its links work', async () => {
  const response = await fetch(`${app.url}/`, { headers: { accept: 'text/html' } })
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const page = await response.text()
  const links = [...page.matchAll(/<a href="([^"]+)"/g)].map(([, path]) => path!)
  expect(links).toEqual(['/docs', '/openapi.json', '/graphql', '/healthz', '/readyz', '/metrics'])
  for (const path of links)
    expect((await fetch(app.url + path, { headers: { accept: 'text/html' } })).status, path).toBe(200)
})

test('a program gets the same information as JSON', async () => {
  const { status, body } = await app.rest('GET', '/', { key: null })
  expect(status).toBe(200)
  expect(body).toMatchObject({ name: 'Pilothouse', version: VERSION, docs: '/docs', graphql: '/graphql' })
})

test('GraphiQL contains the schema and sends no request before there is a key', async () => {
  const page = await (await fetch(`${app.url}/graphql`, { headers: { accept: 'text/html' } })).text()
  expect(page).toContain('"__schema":{"description"')
  expect(page).toContain('"name":"createDeployment"')
})

test('a request’s log line has the caller and the address', async () => {
  const { actor } = await app.context(app.keys.viewer)
  await app.rest('GET', '/v2/deployments', { key: app.keys.viewer })
  await app.gql('{ viewer { role } }', {}, { key: app.keys.viewer })
  const of = (route: string) => lines.find((line) => line.route === route && line.subject === actor.subject)
  for (const route of ['/v2/deployments', '/graphql'])
    await expect.poll(() => of(route)).toMatchObject({ level: 'debug', status: 200, address: '127.0.0.1' })
})

test('the demo uses PILOTHOUSE_URL and prints each step’s duration', async () => {
  const demo = run('cli', ['demo'], {
    PILOTHOUSE_URL: `${app.url}/`,
    CONTROL_PLANE_API_KEY: app.keys.admin,
    GIT_DIRECTORY: app.app.config.GIT_DIRECTORY,
    DATABASE_URL: app.databaseUrl,
    DATA_DIR: app.dataDir,
    SECRETS_KEYS: app.secretsKeys,
  })
  const { code: exitCode, stdout, stderr } = await demo.ended
  expect(stderr).toBe('')
  expect(exitCode).toBe(0)
  expect(stdout.split('\n')[0]).toBe(`A deployment from a git repository, on ${app.url}`)
  // omits the waiting reason, which looks like an error at first
  expect(stdout).toMatch(/^ {2}CREATING +\d+\.\d s$/m)
  expect(stdout.match(/^ {2}DEPLOYED +\d+\.\d s$/gm)).toHaveLength(3)
  expect(stdout.match(/→ Hello from version \d$/gm)).toEqual([
    '→ Hello from version 1',
    '→ Hello from version 2',
    '→ Hello from version 1',
  ])
  // the URL at the end opens the dashboard signed in
  const [address, code] = /^http\S+\/sign-in#code=(\S+)\n$/m.exec(stdout)!
  expect(address).toContain(`${app.url}/sign-in#`)
  const opened = await app.rest('POST', '/v2/sessions', { key: null, body: { code } })
  expect(opened).toMatchObject({ status: 201, body: { session: { role: 'admin' } } })
  // a reader of the log can follow it
  expect(lines.filter(({ msg }) => /^demo #\d DEPLOYED in \d+\.\d s$/.test(String(msg)))).toHaveLength(3)
}, 90_000)

test('an invalid PILOTHOUSE_URL is reported', async () => {
  const env = { PILOTHOUSE_URL: 'here', CONTROL_PLANE_API_KEY: app.keys.admin }
  const { code, stderr } = await run('cli', ['demo'], env).ended
  expect(code).toBe(2)
  expect(stderr).toContain('PILOTHOUSE_URL must be an http(s) URL, not here.')
})

test('LOG_FORMAT=pretty is for people: the time, the level, what happened', async () => {
  const started = run('main', [], {
    PORT: '0',
    HOST: 'nowhere.invalid',
    LOG_FORMAT: 'pretty',
    DATABASE_URL: app.databaseUrl,
    DATA_DIR: app.dataDir,
    SECRETS_KEYS: app.secretsKeys,
    CONTROL_PLANE_API_KEY: 'none-of-the-keys-of-this-database',
  })
  const { stdout } = await started.ended
  expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] WARN: CONTROL_PLANE_API_KEY is ignored/m)
  expect(stdout).not.toContain('{"level"')
})
