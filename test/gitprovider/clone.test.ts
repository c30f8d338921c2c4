// Builds of private repositories: real git, the stand-in's HTTP backend, short-lived tokens.
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createGitProvider as openClient } from '../../src/adapters/git-provider/create-git-provider.ts'
import { createSourceAccess, gitCredentials } from '../../src/app/source-access.ts'
import type { SourceAccess } from '../../src/dataplane/build/source-access.ts'
import type { RevisionWork } from '../../src/domain/protocol/protocol.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import {
  claimOf,
  memoryLog,
  NO_SOURCES,
  never,
  openTestMachine,
  type Repository,
  revisionOf,
  stepOf,
  type TestMachine,
} from '../dataplane/support.ts'
import { type TestDomain, testDomain } from '../support/domain.ts'
import {
  type FakeGitProvider,
  type FakeInstallation,
  type FakeRepository,
  openGitProvider,
} from '../support/gitprovider/open.ts'
import { agentFiles } from '../support/repository.ts'

const FILES = agentFiles()

let provider: FakeGitProvider
let domain: TestDomain
let place: TestMachine
let ctx: RequestContext
let repository: FakeRepository
let installation: FakeInstallation
let head: string
const tokens: string[] = []
const said: string[] = []

beforeAll(async () => {
  provider = await openGitProvider()
  domain = await testDomain()
  const say = (fields: object, message: string) => void said.push(JSON.stringify(fields) + message)
  domain.core.log = { info: say, warn: say, error: say }
  domain.core.gitProvider = await openClient(readConfig({ ...provider.settings }), domain.core.log)
  const access = createSourceAccess(domain.core)
  const sources: SourceAccess = {
    ...access,
    async gitCredentials(deploymentId, signal) {
      const credentials = await access.gitCredentials(deploymentId, signal)
      if (credentials) tokens.push(credentials.password)
      return credentials
    },
  }
  place = await openTestMachine({ sources })
  ctx = await domain.tenant()
  repository = await provider.repository('acme/agent')
  head = await provider.push(repository, 'main', FILES)
})
beforeEach(() => {
  provider.outage(null)
})
afterAll(async () => {
  await place?.close()
  await domain?.close()
  await provider?.close()
})

/** A deployment of the repository with a separate installation. */
async function deployment(changes: { repoUrl?: string; removedAt?: Date; suspendedAt?: Date } = {}): Promise<string> {
  const { repoUrl = repository.url, ...integration } = changes
  installation = provider.install('acme', { repositories: [repository] })
  const { id: integrationId } = await ctx.db.integration.create({
    data: {
      workspaceId: ctx.workspace.id,
      kind: 'app',
      name: 'acme',
      installationId: BigInt(installation.id),
      account: 'acme',
      ...integration,
    },
  })
  const { id } = await ctx.db.deployment.create({
    data: {
      workspaceId: ctx.workspace.id,
      name: `agent-${integrationId}`,
      source: 'gitprovider',
      integrationId,
      repoUrl,
    },
  })
  return id
}

async function build(deploymentId: string, changes: Partial<RevisionWork> = {}) {
  const claim = claimOf()
  claim.deployment.id = deploymentId
  const log = memoryLog()
  const revision = revisionOf({ url: repository.url } as Repository, changes)
  const commits: string[] = []
  const built = await place.runtime.build(claim, stepOf('BUILD', revision), log, never, (sha) => commits.push(sha))
  return { ...built, commits, log, app: path.join(place.options.dataDir, 'apps', deploymentId) }
}

/** Records the arguments and environment of every process on this machine until `stop`. */
function watchProcesses() {
  const seen = new Set<string>()
  const look = () => {
    for (const pid of fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      for (const file of ['cmdline', 'environ'])
        try {
          seen.add(fs.readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' '))
        } catch {
          // the process has ended or belongs to another user
        }
  }
  const timer = setInterval(look, 10)
  return {
    stop() {
      clearInterval(timer)
      return [...seen].join('\n')
    },
  }
}

function everyFile(folder: string): string {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('\n')
}

test.runIf(process.platform === 'linux')(
  'a private repository is built at its commit, and its token is in no process, log or file',
  async () => {
    const processes = watchProcesses()
    provider.latency(100)
    const built = await build(await deployment(), {
      // only where builds are, because the whole disk may take minutes
      buildCommand: `env; find ${place.options.dataDir} -name "*credentials*" -path "*builds*" 2>/dev/null; true`,
    }).finally(() => provider.latency(0))
    const started = processes.stop()
    const token = tokens.at(-1)!
    expect(built.commits).toEqual([head])
    expect(token.length).toBeGreaterThan(10)
    expect(started).toMatch(/git-remote-http|remote-http/)
    expect(started).not.toContain(token)
    expect(built.log.lines.join('\n')).not.toContain(token)
    expect(built.log.lines.join('\n')).not.toContain('gitconfig-credentials')
    expect(said.join('\n')).not.toContain(token)
    expect(provider.calls.map((call) => call.path).join('\n')).not.toContain(token)
    expect(everyFile(built.app)).not.toContain(token)
  },
)

test('a failed build leaves no token, and an expired token is reported with advice', async () => {
  const access = domain.core.gitProvider!
  const id = await deployment()
  domain.core.gitProvider = {
    ...access,
    async cloneToken(...args) {
      const token = await access.cloneToken(...args)
      provider.revokeTokens()
      return token
    },
  }
  try {
    await expect(build(id)).rejects.toThrow(/^The installation does not reach this repository: add the repository/)
  } finally {
    domain.core.gitProvider = access
  }
  const app = path.join(place.options.dataDir, 'apps', id)
  expect(everyFile(app)).not.toContain(tokens.at(-1))
  expect(fs.readdirSync(path.join(app, 'builds'))).toEqual([])
})

test('a repository outside of the installation is named in the error', async () => {
  const id = await deployment()
  installation.repositories = []
  await expect(build(id)).rejects.toThrow(/does not reach the repository acme\/agent/)
})

test('a renamed repository is built under its new name, and the log says so', async () => {
  const renamed = await provider.repository('acme/old-name')
  const sha = await provider.push(renamed, 'main', FILES)
  const { url } = renamed
  const id = await deployment({ repoUrl: url })
  installation.repositories = [renamed]
  await provider.rename(renamed, 'acme/new-name')
  const built = await build(id, { repoUrl: url })
  expect(built.commits).toEqual([sha])
  expect(built.log.lines.join('\n')).toContain('The repository is now acme/new-name; its old address is followed.')
})

test.each([
  ['private', true],
  ['public', false],
])('a %s repository that left the installation is not built, and the failure says so', async (kind, hidden) => {
  const moved = await provider.repository(`acme/moved-${kind}`, { private: hidden })
  await provider.push(moved, 'main', FILES)
  const { url } = moved
  const id = await deployment({ repoUrl: url })
  // the installation also has an `agent` repository, for which a token would be granted
  await provider.rename(moved, `globex-${kind}/agent`)
  await expect(build(id, { repoUrl: url })).rejects.toThrow(
    /does not reach the repository acme\/moved-\w+: .* If the repository moved to another account, create/,
  )
})

test('a removed, a suspended and a missing integration have different errors', async () => {
  await expect(build(await deployment({ removedAt: new Date() }))).rejects.toThrow(/git integration was removed:/)
  await expect(build(await deployment({ suspendedAt: new Date() }))).rejects.toThrow(/git integration is suspended/)
  const elsewhere = await deployment({ repoUrl: 'https://git.example.com/acme/agent' })
  await expect(build(elsewhere)).rejects.toThrow(/is not at the git provider of its integration/)
  const none = { ...domain.core, gitProvider: null }
  await expect(gitCredentials(none, await deployment(), never)).rejects.toThrow(/No git provider is configured/)
})

test('an unavailable provider is retried and then named as the reason', async () => {
  const id = await deployment()
  provider.outage('500')
  const waiting = gitCredentials(domain.core, id, never, 20_000)
  await expect.poll(() => said.join('\n')).toContain('answered 503')
  provider.outage(null)
  expect((await waiting)?.username).toBe('x-access-token')

  provider.outage('down')
  await expect(gitCredentials(domain.core, await deployment(), never, 1)).rejects.toThrow(/^The git provider /)
}, 40_000)

test('an interrupted build does not wait for the provider', async () => {
  const id = await deployment()
  provider.outage('down')
  const stop = new AbortController()
  const waiting = gitCredentials(domain.core, id, stop.signal)
  stop.abort(new Error('interrupted'))
  await expect(waiting).rejects.toThrow('interrupted')
})

test('a redirect is not followed, and the failure says so', async () => {
  const hosts: string[] = []
  const server = http.createServer((request, response) => {
    const { host = '', authorization } = request.headers
    hosts.push(host)
    if (host.startsWith('127.0.0.1') && authorization)
      response.writeHead(302, { location: `http://localhost:${port}${request.url}` }).end()
    else response.writeHead(401, { 'www-authenticate': 'Basic realm="Git"' }).end()
  })
  server.listen(0)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const gitCredentials = async () => ({ username: 'x-access-token', password: 'canary-of-the-redirect' })
  const other = await openTestMachine({ sources: { ...NO_SOURCES, gitCredentials } })
  try {
    const revision = revisionOf({ url: `http://127.0.0.1:${port}/acme/agent.git` } as Repository)
    const built = other.runtime.build(claimOf(), stepOf('BUILD', revision), memoryLog(), never)
    await expect(built).rejects.toThrow(/^The repository’s host redirects to another address/)
    expect(new Set(hosts)).toEqual(new Set([`127.0.0.1:${port}`]))
  } finally {
    await other.close()
    server.close()
  }
})
