/** The git provider's client against a stand-in with the provider's REST API and git repositories. */
import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createGitProvider as openClient } from '../../src/adapters/git-provider/create-git-provider.ts'
import { createLogger } from '../../src/app/logger.ts'
import type { GitProvider } from '../../src/domain/ports/git-provider.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { type FakeGitProvider, openGitProvider } from '../support/gitprovider/open.ts'

const run = promisify(execFile)
let standIn: FakeGitProvider
let client: GitProvider
let logged: string

async function open(changed: Record<string, string> = {}): Promise<GitProvider> {
  const write = (line: string) => {
    logged += line
  }
  const log = createLogger('debug', { write })
  return (await openClient(readConfig({ ...standIn.settings, ...changed }), log))!
}

beforeEach(async () => {
  logged = ''
  standIn = await openGitProvider()
  client = await open()
})
afterEach(() => standIn.close())

/** `count` repositories without git, unordered like the provider's list. */
async function many(count: number) {
  return await Promise.all(
    Array.from({ length: count }, (_, n) =>
      standIn.repository(`acme/r${(n * 7) % count}`, { disk: false, archived: n % 50 === 0 }),
    ),
  )
}

const callsTo = (part: string) => standIn.calls.filter(({ path }) => path.includes(part))
const unavailable = (said: RegExp) =>
  expect.objectContaining({ code: 'GITPROVIDER_UNAVAILABLE', message: expect.stringMatching(said) })

test('the app is installed at the provider’s page, with the given state', async () => {
  expect(await client.installUrl('a+b&c')).toBe(
    `${standIn.webUrl}/apps/${standIn.slug}/installations/new?state=a%2Bb%26c`,
  )
})

test('an installation is described, and an unknown one is null', async () => {
  const installed = standIn.install('acme')
  const { id, createdAt } = installed
  expect(await client.installation(id)).toEqual({ id, account: 'acme', createdAt, suspended: false })
  expect(await client.installation(1)).toBeNull()
  installed.suspended = true
  expect(await client.installation(id)).toMatchObject({ suspended: true })
  await expect(client.repositories(id)).rejects.toEqual(unavailable(/suspended/))
})

test('250 repositories are read as three concurrent pages, in order and without archived ones', async () => {
  const { id } = standIn.install('acme', { repositories: await many(250) })
  // the last two responses wait for each other
  standIn.together(/[?&]page=[23]\b/, 2)
  const listed = (await client.repositories(id))!
  expect(listed).toHaveLength(245)
  const names = listed.map(({ name }) => name)
  expect(names).toEqual([...names].sort())
  expect(listed[0]).toEqual({
    id: expect.any(Number),
    owner: 'acme',
    name: 'r1',
    url: `${standIn.webUrl}/acme/r1.git`,
    defaultBranch: 'main',
  })
  const pages = callsTo('/installation/repositories')
  expect(pages).toHaveLength(3)
})

test('at most six pages of a long list are read concurrently', async () => {
  const { id } = standIn.install('acme', { repositories: await many(1000) })
  standIn.latency(30)
  expect(await client.repositories(id)).toHaveLength(980)
  const pages = callsTo('/installation/repositories')
  const atOnce = pages.map(
    (page) => pages.filter((o) => o.startedAt <= page.startedAt && o.endedAt > page.startedAt).length,
  )
  expect(Math.max(...atOnce)).toBeLessThanOrEqual(6)
})

test('an installation without repositories has an empty list, a deleted one has none', async () => {
  const installed = standIn.install('acme')
  expect(await client.repositories(installed.id)).toEqual([])
  standIn.uninstall(installed)
  expect(await client.repositories(installed.id)).toBeNull()
}, 20_000)

test('one token serves many calls and is replaced when the provider rejects it', async () => {
  const { id } = standIn.install('acme', { repositories: await many(3) })
  await client.repositories(id)
  await client.repositories(id)
  expect(callsTo('access_tokens')).toHaveLength(1)
  standIn.revokeTokens()
  expect(await client.repositories(id)).toHaveLength(2)
  expect(callsTo('access_tokens')).toHaveLength(2)
}, 20_000)

test.each([
  ['500', /answered 503/],
  ['html', /not JSON/],
  ['down', /can't be reached/],
] as const)(
  'an outage (%s) is reported as one, not as an empty list',
  async (kind, said) => {
    const { id } = standIn.install('acme')
    standIn.outage(kind)
    await expect(client.repositories(id)).rejects.toEqual(unavailable(said))
    await expect(client.installUrl('s')).rejects.toEqual(unavailable(said))
    await expect(client.createStatus(id, 'acme/a', '0'.repeat(40), STATUS)).rejects.toEqual(unavailable(said))
    standIn.outage(null)
    expect(await client.repositories(id)).toEqual([])
  },
  15_000,
)

test('a provider that never responds costs ten seconds at most', async () => {
  const { id } = standIn.install('acme')
  standIn.outage('slow')
  const begun = Date.now()
  await expect(client.repositories(id)).rejects.toEqual(unavailable(/did not answer/))
  expect(Date.now() - begun).toBeLessThan(20_000)
  standIn.outage(null)
  expect(await client.repositories(id)).toEqual([])
}, 40_000)

test('a caller can abort its call', async () => {
  const { id } = standIn.install('acme')
  standIn.outage('slow')
  const caller = new AbortController()
  const asked = client.repositories(id, caller.signal)
  caller.abort(new Error('gone'))
  await expect(asked).rejects.toThrow('gone')
})

test('an unreachable address is reported', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const { port } = free.address() as { port: number }
  await new Promise((resolve) => free.close(resolve))
  const other = await open({ GITPROVIDER_API_URL: `http://127.0.0.1:${port}/api/v3` })
  await expect(other.installUrl('s')).rejects.toEqual(unavailable(/can't be reached \(ECONNREFUSED\)/))
})

test('a long rate limit is reported with its duration, without a wait', async () => {
  const { id } = standIn.install('acme')
  standIn.rateLimit(0)
  const begun = Date.now()
  await expect(client.repositories(id)).rejects.toEqual(unavailable(/wants us to wait 3\d\d\d s/))
  standIn.rateLimit(null)
  standIn.secondaryLimit(60)
  await expect(client.repositories(id)).rejects.toEqual(unavailable(/wants us to wait 60 s/))
  expect(Date.now() - begun).toBeLessThan(20_000)
})

test('a rate limit of one second is waited for', async () => {
  const { id } = standIn.install('acme')
  standIn.secondaryLimit(1)
  expect(await client.repositories(id)).toEqual([])
})

test('a wrong key of the app is reported', async () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const other = await open({ GITPROVIDER_PRIVATE_KEY: pem })
  await expect(other.installUrl('s')).rejects.toEqual(unavailable(/refuses our app \(401\): check GITPROVIDER_APP_ID/))
  await expect(other.repositories(standIn.install('acme').id)).rejects.toEqual(unavailable(/refuses our app/))
})

test('the key may contain \\n for line breaks or be in a file; any other value stops the start', async () => {
  const pem = standIn.settings.GITPROVIDER_PRIVATE_KEY
  const file = path.join(await mkdtemp(path.join(os.tmpdir(), 'pilothouse-key-')), 'app.pem')
  await writeFile(file, pem)
  for (const setting of [pem.replaceAll('\n', '\\n'), file])
    expect(await (await open({ GITPROVIDER_PRIVATE_KEY: setting })).installUrl('s')).toContain('state=s')
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })
  const wrong = (setting: string) => expect(open({ GITPROVIDER_PRIVATE_KEY: setting })).rejects
  await wrong('/nowhere/app.pem').toThrow('neither a key in PEM form nor a file that can be read (ENOENT)')
  await wrong('-----BEGIN RSA PRIVATE KEY-----\nMII').toThrow('must be a private key in PEM form')
  await wrong(ec.toString()).toThrow('must be an RSA key, not ec')
})

test('a branch has a commit, also with a slash in its name; an unknown branch has none', async () => {
  const repo = await standIn.repository('acme/app')
  const { id } = standIn.install('acme', { repositories: [repo] })
  const sha = await standIn.push(repo, 'feature/x#1', { 'a.txt': 'a' })
  expect(await client.branchHead(id, 'acme/app', 'feature/x#1')).toBe(sha)
  expect(await client.branchHead(id, 'acme/app', 'main')).toBeNull()
  expect(await client.branchHead(id, 'acme/other', 'main')).toBeNull()
})

const STATUS = {
  state: 'success',
  context: 'pilothouse/app',
  description: 'Deployed',
  targetUrl: 'https://app.test',
} as const

test('a commit gets its status, and a permanent rejection returns false', async () => {
  const repo = await standIn.repository('acme/app')
  const { id } = standIn.install('acme', { repositories: [repo] })
  const sha = await standIn.push(repo, 'main', { 'a.txt': 'a' })
  expect(await client.createStatus(id, 'acme/app', sha, STATUS)).toBe(true)
  expect(standIn.statuses(repo, sha)).toMatchObject([STATUS])
  expect(await client.createStatus(id, 'acme/app', 'f'.repeat(40), STATUS)).toBe(false)
  expect(await client.createStatus(id, 'acme/gone', sha, STATUS)).toBe(false)
  repo.archived = true
  expect(await client.createStatus(id, 'acme/app', sha, STATUS)).toBe(false)
}, 20_000)

test('a clone token clones its repository and no other', async () => {
  const [app, other] = [await standIn.repository('acme/app'), await standIn.repository('acme/other')]
  const { id } = standIn.install('acme', { repositories: [app, other] })
  for (const repo of [app, other]) await standIn.push(repo, 'main', { 'a.txt': 'a' })
  const { token, ...found } = (await client.cloneToken(id, 'acme/app'))!
  expect(found).toEqual({ repositoryId: app.id, repository: 'acme/app' })
  expect(await client.cloneToken(id, 'acme/app')).toEqual({ token, ...found })
  const basic = Buffer.from(`x-access-token:${token}`).toString('base64')
  const read = (url: string) =>
    run('git', ['ls-remote', url, 'main'], {
      env: {
        PATH: process.env.PATH,
        GIT_TERMINAL_PROMPT: '0',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'http.extraHeader',
        GIT_CONFIG_VALUE_0: `Authorization: Basic ${basic}`,
      },
    })
  expect((await read(app.url)).stdout).toContain('refs/heads/main')
  await expect(read(other.url)).rejects.toThrow()
  expect(await client.cloneToken(id, 'acme/elsewhere')).toBeNull()
})

test('a former name finds the repository, its branch and its commits, but no public repository elsewhere', async () => {
  const repo = await standIn.repository('acme/before')
  const { id } = standIn.install('acme', { repositories: [repo] })
  const sha = await standIn.push(repo, 'main', { 'a.txt': 'a' })
  await standIn.rename(repo, 'acme/after')
  expect(await client.cloneToken(id, 'acme/before')).toMatchObject({ repositoryId: repo.id, repository: 'acme/after' })
  expect(await client.branchHead(id, 'acme/before', 'main')).toBe(sha)
  expect(await client.createStatus(id, 'acme/before', sha, STATUS)).toBe(true)
  expect(standIn.statuses(repo, sha)).toHaveLength(1)
  await standIn.repository('globex/after', { private: false })
  expect(await client.cloneToken(id, 'globex/after')).toBeNull()
})

test('a person may use their installation, and a code works once', async () => {
  const own = standIn.install('acme', { users: ['ada'] })
  const foreign = standIn.install('globex')
  expect(await client.mayUse!(standIn.code('ada'), own.id)).toBe(true)
  expect(await client.mayUse!(standIn.code('ada'), foreign.id)).toBe(false)
  const code = standIn.code('ada')
  await client.mayUse!(code, own.id)
  expect(await client.mayUse!(code, own.id)).toBe(false)
  const other = await open({ GITPROVIDER_CLIENT_SECRET: 'wrong' })
  await expect(other.mayUse!(standIn.code('ada'), own.id)).rejects.toEqual(unavailable(/refuses our OAuth client/))
})

test('all pages of a person’s installations are read', async () => {
  const all = Array.from({ length: 150 }, () => standIn.install('acme', { users: ['ada'] }))
  expect(await client.mayUse!(standIn.code('ada'), all.at(-1)!.id)).toBe(true)
})

test('without an OAuth client no person can be verified', async () => {
  expect((await open({ GITPROVIDER_CLIENT_ID: '', GITPROVIDER_CLIENT_SECRET: '' })).mayUse).toBeNull()
})

test('only URLs of the provider’s site name a repository', async () => {
  const github = await open({ GITPROVIDER_API_URL: 'https://api.github.com' })
  const enterprise = await open({ GITPROVIDER_API_URL: 'https://git.corp.test/api/v3/' })
  for (const url of ['https://github.com/acme/app', 'https://github.com/acme/app.git', 'https://GitHub.com/acme/app/'])
    expect(github.repositoryOf(url)).toBe('acme/app')
  expect(enterprise.repositoryOf('https://git.corp.test/acme/my.app.git')).toBe('acme/my.app')
  expect(client.repositoryOf(`${standIn.webUrl}/acme/app.git`)).toBe('acme/app')
  for (const url of [
    'http://github.com/acme/app',
    'https://github.com.evil.test/acme/app',
    'https://github.com:8443/acme/app',
    'https://token@github.com/acme/app',
    'https://github.com/acme',
    'https://github.com/acme/app/tree/main',
    'https://github.com/acme/..',
    'https://github.com/acme/app?x=1',
    'git@github.com:acme/app.git',
    'acme/app',
  ])
    expect(github.repositoryOf(url), url).toBeNull()
})

test('no key, secret or token of the tests above is in the log', async () => {
  const repo = await standIn.repository('acme/app')
  const { id } = standIn.install('acme', { repositories: [repo] })
  const { token } = (await client.cloneToken(id, 'acme/app'))!
  await client.repositories(id)
  standIn.rateLimit(0)
  await client.branchHead(id, 'acme/app', 'main').catch(() => undefined)
  for (const kind of ['500', 'html', 'down'] as const) {
    standIn.outage(kind)
    await client.branchHead(id, 'acme/app', 'main').catch(() => undefined)
    await client.mayUse!(standIn.code('ada'), id).catch(() => undefined)
  }
  expect(logged).toContain('The git provider answered 503')
  const { settings } = standIn
  for (const canary of [
    token,
    'ghs_',
    'PRIVATE KEY',
    settings.GITPROVIDER_CLIENT_SECRET,
    settings.GITPROVIDER_WEBHOOK_SECRET,
  ])
    expect(logged).not.toContain(canary)
}, 30_000)
