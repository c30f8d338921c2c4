/**
 * Server processes on one DATA_DIR and one database, and their agents: for tests that end, freeze or upgrade servers.
 * `close` ends everything.
 */
import { readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { findPostmaster } from '../../../src/platform/postgres/embedded/postmaster.ts'
import { newDataDir } from '../data-dir.ts'
import { cli, type RunningServer, startServer } from '../process.ts'
import { type AgentRepository, agentRepository } from '../repository.ts'

/** the admin's key of the place */
export const KEY = 'cpk_steady_admin_key'

export interface Deployed {
  id: string
  url: string
}

interface Revision {
  id: string
  attempt: number
  status: string
}

export interface SteadyPlace {
  dataDir: string
  /**
   * Starts another server. `settings` override those of the place. `checkout`: folder of its code; default: this one.
   */
  start(settings?: Record<string, string>, checkout?: string): Promise<RunningServer>
  /** Sends the server a signal and waits for its end. */
  end(server: RunningServer, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Kills all running servers. */
  endAll(): Promise<void>
  /** Stops the server's process with SIGSTOP; `thaw` continues it. */
  freeze(server: RunningServer): void
  thaw(server: RunningServer): void
  /** Deploys a steady agent with this greeting. Resolves when it serves. */
  deploy(
    greeting: string,
    how?: { startDelayMs?: number; limitMs?: number; access?: string; grace?: number },
  ): Promise<Deployed>
  /** Deploys a new revision with this greeting without waiting. Returns its id. */
  update(id: string, greeting: string): Promise<string>
  redeploy(id: string, revisionId: string): Promise<void>
  health(id: string): Promise<{ ready: number; draining: number }>
  /** Newest first. */
  revisions(id: string): Promise<Revision[]>
  /** Resolves when the revision has this status. Throws when it has failed. */
  reaches(id: string, revisionId: string, status: string, limitMs?: number): Promise<void>
  /** The running server that holds the lease; undefined if the database is unavailable, too. */
  holder(id: string): Promise<RunningServer | undefined>
  /** pid of the servers' embedded Postgres */
  postmaster(): number
  close(): Promise<void>
}

export interface SteadyPlaceOptions {
  /** default: the servers' embedded Postgres */
  databaseUrl?: string
  settings?: Record<string, string>
}

export async function steadyPlace({ databaseUrl, settings = {} }: SteadyPlaceOptions): Promise<SteadyPlace> {
  const dataDir = newDataDir()
  // agents' accounts must be able to enter it
  await mkdir(dataDir, { mode: 0o711 })
  const gitDirectory = path.join(dataDir, 'git')
  const repositories = new Map<string, AgentRepository>()
  const servers = new Set<RunningServer>()
  const frozen = new Set<RunningServer>()
  let names = 0
  const env = {
    DATA_DIR: dataDir,
    GIT_DIRECTORY: gitDirectory,
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
    SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
    CONTROL_PLANE_API_KEY: KEY,
    RUNTIME: 'process',
    WORKER: 'on',
    SWEEP_SECONDS: '1',
    LOG_LEVEL: 'warn',
    RATE_LIMIT: '0',
    AGENTS_END_WITH_SERVER: 'off',
    ...settings,
  }

  async function rest(method: string, target: string, body?: object) {
    for (let tries = 0; ; tries++) {
      const server = [...servers].find((one) => !one.child.killed && !frozen.has(one))
      if (!server) throw new Error('no server runs')
      try {
        const response = await fetch(server.url + target, {
          method,
          headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
          body: body && JSON.stringify(body),
        })
        const text = await response.text()
        // the server is busy or its database is unavailable
        if (response.status === 503 && tries < 100) continue
        if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`)
        // biome-ignore lint/suspicious/noExplicitAny: JSON of the REST API
        return (text === '' ? null : JSON.parse(text)) as any
      } catch (error) {
        // a server that ends cuts its requests; the next server answers
        if (!(error instanceof TypeError) || tries === 100) throw error
        await pause(50)
      }
    }
  }

  const place: SteadyPlace = {
    dataDir,
    async start(changes = {}, checkout) {
      const server = await startServer({ ...env, ...changes }, checkout)
      servers.add(server)
      void server.ended.then(() => servers.delete(server))
      return server
    },
    async end(server, signal) {
      server.child.kill(signal)
      await server.ended
    },
    async endAll() {
      await Promise.all([...servers].map((server) => place.end(server, 'SIGKILL')))
    },
    freeze(server) {
      frozen.add(server)
      process.kill(server.child.pid!, 'SIGSTOP')
    },
    thaw(server) {
      process.kill(server.child.pid!, 'SIGCONT')
      frozen.delete(server)
    },
    async deploy(greeting, { startDelayMs = 0, limitMs, access = 'public', grace } = {}) {
      const name = `steady-${names++}`
      const repository = await agentRepository(gitDirectory, name, undefined, 'steady-agent')
      await repository.push(greeting)
      const [integration] = await rest('GET', '/v1/integrations/gitprovider/install')
      const { id, latest_revision_id } = await rest('POST', '/v2/deployments', {
        name,
        source: 'gitprovider',
        source_config: {
          ...{ integration_id: integration.id, repo_url: repository.url, install_command: 'true' },
          ...(grace !== undefined && { resource_spec: { termination_grace_seconds: grace } }),
        },
        source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
        access,
        secrets: [{ name: 'START_DELAY_MS', value: String(startDelayMs) }],
      })
      repositories.set(id, repository)
      await place.reaches(id, latest_revision_id, 'DEPLOYED', limitMs)
      const { hostname, port } = new URL((await rest('GET', `/v2/deployments/${id}`)).url)
      // the address by path: Node.js does not resolve names below localhost
      return { id, url: `http://127.0.0.1:${port}/~${hostname.split('.')[0]}` }
    },
    async update(id, greeting) {
      await repositories.get(id)!.push(greeting)
      const body = { source_revision_config: { repo_ref: 'main' } }
      return (await rest('PATCH', `/v2/deployments/${id}`, body)).latest_revision_id
    },
    redeploy: (id, revisionId) => rest('POST', `/v2/deployments/${id}/revisions/${revisionId}/redeploy`),
    health: async (id) => (await rest('GET', `/v2/deployments/${id}`)).health,
    revisions: async (id) => (await rest('GET', `/v2/deployments/${id}/revisions`)).resources,
    async reaches(id, revisionId, status, limitMs) {
      await found(async () => {
        const revision = await rest('GET', `/v2/deployments/${id}/revisions/${revisionId}`)
        if (revision.status !== status && /FAILED|SKIPPED|INTERRUPTED/.test(revision.status))
          throw new Error(`the revision is ${revision.status}: ${revision.status_message}`)
        return revision.status === status
      }, limitMs)
    },
    async holder(id) {
      const pid = await holderOf(databaseUrl ?? embeddedUrl(dataDir), id)
      return [...servers].find(({ child }) => String(child.pid) === pid)
    },
    postmaster: () => findPostmaster(path.join(dataDir, 'postgres'))!.pid,
    async close() {
      await place.endAll()
      const ended = await cli(['server', 'stop', '--agents'], env)
      for (const repository of repositories.values()) await repository.remove()
      // on a busy machine Postgres ends a moment later
      await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 })
      if (ended.code !== 0) throw new Error(ended.stderr)
    },
  }
  return place
}

/** The pid of the lease holder. */
async function holderOf(url: string | undefined, id: string): Promise<string | undefined> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<{ pid: string }>(
      `SELECT split_part(lease_holder, ':', 2) AS pid FROM deployments WHERE id = $1 AND lease_expires_at > now()`,
      [id],
    )
    return rows[0]?.pid
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

/** The connection does not count as a user of the embedded Postgres. Undefined: it does not run. */
function embeddedUrl(dataDir: string): string | undefined {
  const postmaster = findPostmaster(path.join(dataDir, 'postgres'))
  const password = () => readFileSync(path.join(dataDir, 'postgres-password'), 'utf8').trim()
  return postmaster && `postgresql://postgres:${password()}@127.0.0.1:${postmaster.port}/pilothouse`
}

/** No wait here takes longer on any machine. */
const MAX_WAIT_MS = 90_000

/** Resolves with the first result of `look`. Throws after `limitMs`. */
export async function found<T>(look: () => Promise<T | undefined | false>, limitMs = MAX_WAIT_MS): Promise<T> {
  for (const end = performance.now() + limitMs; performance.now() < end; ) {
    const value = await look()
    if (value) return value
    await pause(50)
  }
  throw new Error(`the condition was not met: ${look}`)
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
