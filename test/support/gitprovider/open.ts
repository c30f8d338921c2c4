/**
 * A stand-in for the git hosting provider: its REST API, its OAuth exchange, real repositories over http, webhooks,
 * and its failures. `settings` is the environment of a server that uses it.
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { branchHead, commit, initBare, serveGit } from './git.ts'
import { type Answer, answer, exchangeCode } from './rest.ts'
import { type Delivery, deliver, installationPayload, type Push, pushPayload, repositoriesPayload } from './webhooks.ts'
import {
  type Call,
  type FakeInstallation,
  type FakeRepository,
  type FakeStatus,
  newId,
  newWorld,
  type Outage,
  type World,
} from './world.ts'

export type { FakeInstallation, FakeRepository, FakeStatus } from './world.ts'

const API = '/api/v3'

export type FakeGitProvider = Awaited<ReturnType<typeof openGitProvider>>

export async function openGitProvider() {
  const world = newWorld()
  const root = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-provider-'))
  const server = createServer((request, response) => {
    serve(world, root, request, response).catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  world.webUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  world.apiUrl = `${world.webUrl}${API}`

  return {
    apiUrl: world.apiUrl,
    webUrl: world.webUrl,
    webhookSecret: world.webhookSecret,
    slug: world.slug,
    /** The environment for a server. */
    settings: {
      GITPROVIDER_API_URL: world.apiUrl,
      GITPROVIDER_APP_ID: String(world.appId),
      GITPROVIDER_PRIVATE_KEY: world.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
      GITPROVIDER_WEBHOOK_SECRET: world.webhookSecret,
      GITPROVIDER_CLIENT_ID: world.clientId,
      GITPROVIDER_CLIENT_SECRET: world.clientSecret,
    },
    /** All requests to the API so far, oldest first. */
    calls: world.calls as readonly Call[],

    /** A private repository with a real bare one on disk, empty at first; `disk: false` for long lists. */
    async repository(
      fullName: string,
      options: { archived?: boolean; defaultBranch?: string; private?: boolean; disk?: boolean } = {},
    ): Promise<FakeRepository> {
      const [owner = '', name = ''] = fullName.split('/')
      const { archived = false, defaultBranch = 'main', disk = true } = options
      const directory = disk ? path.join(root, owner, `${name}.git`) : null
      if (directory) await initBare(directory, defaultBranch)
      const url = `${world.webUrl}/${fullName}.git`
      const secret = options.private ?? true
      const made = { id: newId(), owner, name, fullName, archived, private: secret, defaultBranch, directory, url }
      world.repositories.set(fullName, made)
      return made
    },
    /** Renames the repository, or moves it to another owner; the provider redirects its old name. */
    async rename(repo: FakeRepository, fullName: string): Promise<void> {
      const [owner = '', name = ''] = fullName.split('/')
      const directory = path.join(root, owner, `${name}.git`)
      await mkdir(path.dirname(directory), { recursive: true })
      await rename(repo.directory!, directory)
      world.repositories.delete(repo.fullName)
      world.renamed.set(repo.fullName, repo)
      Object.assign(repo, { owner, name, fullName, directory, url: `${world.webUrl}/${fullName}.git` })
      world.repositories.set(fullName, repo)
    },
    /** Installs the app for an account. `repositories` may be changed afterwards; `users` may use it. */
    install(account: string, given: { repositories?: FakeRepository[]; users?: string[] } = {}): FakeInstallation {
      const { repositories = [], users = [account] } = given
      const installed = { id: newId(), account, createdAt: new Date(), suspended: false, repositories, users }
      world.installations.set(installed.id, installed)
      return installed
    },
    uninstall(installed: FakeInstallation): void {
      world.installations.delete(installed.id)
    },
    /** A one-time OAuth code, as this user's browser would bring it. */
    code(user: string): string {
      const code = randomBytes(10).toString('hex')
      world.codes.set(code, user)
      return code
    },
    /** Commits these files to the branch and returns the commit; sends no webhook. */
    push: (repo: FakeRepository, branch: string, files: Record<string, string>) => commit(repo, branch, files),
    branchHead: (repo: FakeRepository, branch: string) => branchHead(repo, branch),
    statuses: (repo: FakeRepository, sha: string): readonly FakeStatus[] =>
      world.statuses.get(`${repo.fullName}@${sha}`) ?? [],

    /** Payloads of webhooks, from the provider's examples. */
    payload: {
      push: (repo: FakeRepository, installed: FakeInstallation, push: Push) =>
        pushPayload(world, repo, installed, push),
      installation: (installed: FakeInstallation, action: Parameters<typeof installationPayload>[2]) =>
        installationPayload(world, installed, action),
      repositories: (installed: FakeInstallation, change: Parameters<typeof repositoriesPayload>[2]) =>
        repositoriesPayload(world, installed, change),
    },
    /** Delivers a webhook, signed unless another signature (or null) is given. A string is sent unchanged. */
    deliver: (url: string, event: string, payload: unknown, delivery?: Delivery) =>
      deliver(world.webhookSecret, url, event, payload, delivery),

    outage(kind: Outage): void {
      world.outage = kind
    },
    /** Requests left before the rate limit (null: no limit), and when it ends. */
    rateLimit(remaining: number | null, resetAt = new Date(Date.now() + 3_600_000)): void {
      world.remaining = remaining
      world.resetAt = resetAt
    },
    /** Makes a secondary limit refuse the next request of an installation. */
    secondaryLimit(retryAfterSeconds: number): void {
      world.secondary = retryAfterSeconds
    },
    /** Delays every call of the API by this time. */
    latency(ms: number): void {
      world.latency = ms
    },
    /** Holds the next `count` calls of paths like this until all have arrived. */
    together(path: RegExp, count: number): void {
      let meet = () => {}
      const met = new Promise<void>((resolve) => {
        meet = resolve
      })
      world.meeting = { path, missing: count, met, meet }
    },
    /** Expires all tokens immediately. */
    revokeTokens(): void {
      world.tokens.clear()
    },
    async close(): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
      await rm(root, { recursive: true, force: true })
    },
  }
}

async function serve(world: World, root: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const startedAt = Date.now()
  const url = new URL(request.url!, world.webUrl)
  const path = url.pathname.startsWith(`${API}/`) ? url.pathname.slice(API.length) : url.pathname
  const method = request.method!
  const call: Call = { method, path: `${path}${url.search}`, status: 0, startedAt, endedAt: 0 }
  world.calls.push(call)
  if (world.outage === 'down') return void request.socket.destroy()
  if (world.outage === 'slow') return
  if (world.latency > 0) await delay(world.latency)
  await others(world, call.path)
  if (world.outage) return send(call, response, OUTAGES[world.outage])
  if (/^\/[^/]+\/[^/]+\.git\//.test(url.pathname)) return gitOf(world, root, url, request, response)
  const body = await bodyOf(request)
  const oauth = method === 'POST' && url.pathname === '/login/oauth/access_token'
  const { authorization } = request.headers
  const asked = { method, path, query: url.searchParams, authorization, body }
  send(call, response, oauth ? exchangeCode(world, body) : await answer(world, asked))
}

/** Waits for the other calls of the group. */
async function others({ meeting }: World, path: string): Promise<void> {
  if (!meeting?.path.test(path)) return
  if (--meeting.missing === 0) meeting.meet()
  await meeting.met
}

const OUTAGES: Record<'500' | 'html', Answer> = {
  '500': { status: 503, body: { message: 'Service unavailable' } },
  html: {
    status: 200,
    body: '<!doctype html><title>Down for maintenance</title>',
    headers: { 'content-type': 'text/html' },
  },
}

function send(call: Call, response: ServerResponse, { status, body, headers }: Answer): void {
  Object.assign(call, { status, endedAt: Date.now() })
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** A private repository is visible only to a token of an installation that includes it. */
function gitOf(world: World, root: string, url: URL, request: IncomingMessage, response: ServerResponse): void {
  const fullName = url.pathname
    .split('/')
    .slice(1, 3)
    .join('/')
    .replace(/\.git$/, '')
  const repo = world.repositories.get(fullName)
  const renamed = repo ? undefined : world.renamed.get(fullName)
  if (renamed) {
    const location = url.href.replace(`/${fullName}.git/`, `/${renamed.fullName}.git/`)
    response.writeHead(301, { location }).end()
    return
  }
  const basic = /^basic (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const [user, password = ''] = Buffer.from(basic, 'base64').toString().split(':')
  const token = user === 'x-access-token' ? world.tokens.get(password) : undefined
  const reaches = token?.installation.repositories.includes(repo!) && (token.repositories?.includes(repo!.id) ?? true)
  if (repo?.directory && (!repo.private || reaches)) {
    serveGit(root, url, request, response)
    return
  }
  response.writeHead(basic ? 404 : 401, basic ? {} : { 'www-authenticate': 'Basic realm="Git"' })
  response.end('Repository not found.')
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  if (/urlencoded/.test(request.headers['content-type'] ?? '')) return Object.fromEntries(new URLSearchParams(text))
  return text ? JSON.parse(text) : {}
}
