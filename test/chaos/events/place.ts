/**
 * Two real servers on one Postgres. Each can be killed, paused, ended and restarted. A TCP proxy in front of each
 * server can cut client connections; another one sits in front of Postgres.
 */
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import pg from 'pg'
import { type Embedded, startEmbedded } from '../../../src/platform/postgres/embedded/embedded.ts'
import { findPostmaster } from '../../../src/platform/postgres/embedded/postmaster.ts'
import { newDataDir } from '../../support/data-dir.ts'
import { overTcp } from '../../support/database.ts'
import { type RunningServer, startServer } from '../../support/process.ts'
import { type TcpProxy, tcpProxy } from '../../support/tcp-proxy.ts'
import { pause, untilTrue } from './waiting.ts'

export const KEY = 'cpk_chaos_events_admin_key'
export const SECRETS_KEYS = `k:${Buffer.alloc(32, 1).toString('base64')}`

/** application_name of the connections that LISTEN. */
export const LISTEN = 'pilothouse listen'

export interface Server {
  name: string
  /** Its own address, without a proxy. */
  direct: string
  /** Its address through the proxy that cuts connections. */
  url: string
  state: 'up' | 'paused' | 'down'
  running: RunningServer | null
  clients: TcpProxy
  database: TcpProxy
}

export interface Place {
  servers: readonly Server[]
  /** DATABASE_URL of the servers and of programs that act as one. */
  dataDir: string
  /** id of the servers' `directory` integration. */
  gitDirectory: string
  /** Direct address of Postgres. */
  databaseUrl: string
  /** Starts a stopped server with the same settings. */
  start(server: Server): Promise<void>
  /** Resolves with the exit of the process. */
  end(server: Server, signal: 'SIGTERM' | 'SIGKILL'): Promise<{ code: number | null; ms: number }>
  pause(server: Server): void
  resume(server: Server): void
  /** `fast`: Postgres notifies every session; `immediate`: as in a crash. Resolves when a new Postgres answers. */
  restartPostgres(how: 'fast' | 'immediate'): Promise<void>
  /** Ends the LISTEN sessions of all servers and returns their number. */
  cutListen(): Promise<number>
  /** Returns the rows of a statement on a separate connection; retries while the database is unavailable. */
  rows<T extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<T[]>
  close(): Promise<void>
}

export async function openPlace(settings: Record<string, string>): Promise<Place> {
  const dataDir = newDataDir()
  await mkdir(dataDir, { mode: 0o711 })
  // no fsync, because the machine does not fail; but commits must survive a crash of Postgres
  const postgres = await startEmbedded({ dataDir, settings: { fsync: 'off', max_connections: '200' } })
  const servers: Server[] = []
  const place: Place = {
    servers,
    dataDir,
    gitDirectory: path.join(dataDir, 'git'),
    databaseUrl: overTcp(postgres.url),
    async start(server) {
      server.running = await startServer({
        DATA_DIR: path.join(dataDir, 'server'),
        DATABASE_URL: server.database.url,
        GIT_DIRECTORY: place.gitDirectory,
        PORT: new URL(server.direct).port,
        SECRETS_KEYS,
        CONTROL_PLANE_API_KEY: KEY,
        LOG_LEVEL: 'warn',
        LOG_FORMAT: 'json',
        RATE_LIMIT: '0',
        REQUESTS_AT_ONCE: '0',
        SWEEP_SECONDS: '1',
        ...settings,
      })
      server.state = 'up'
    },
    async end(server, signal) {
      const { child, ended } = server.running!
      const since = performance.now()
      server.state = 'down'
      child.kill(signal)
      const { code } = await ended
      server.running = null
      return { code, ms: performance.now() - since }
    },
    pause(server) {
      server.state = 'paused'
      server.running!.child.kill('SIGSTOP')
    },
    resume(server) {
      server.running!.child.kill('SIGCONT')
      server.state = 'up'
    },
    async restartPostgres(how) {
      const folder = path.join(dataDir, 'postgres')
      const { pid } = findPostmaster(folder)!
      process.kill(pid, how === 'fast' ? 'SIGINT' : 'SIGQUIT')
      await untilTrue(async () => (findPostmaster(folder)?.pid ?? pid) !== pid)
      await place.rows('SELECT 1')
    },
    cutListen: async () =>
      (await place.rows('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1', [LISTEN]))
        .length,
    async rows(sql, values) {
      for (;;) {
        const client = new pg.Client({ connectionString: postgres.url, connectionTimeoutMillis: 2000 })
        client.on('error', () => {})
        try {
          await client.connect()
          // biome-ignore lint/suspicious/noExplicitAny: the caller knows the columns
          return (await client.query(sql, values)).rows as any
        } catch (error) {
          if (!isOutage(error)) throw error
          await pause(50)
        } finally {
          await client.end().catch(() => {})
        }
      }
    },
    async close() {
      for (const server of servers) {
        server.running?.child.kill('SIGKILL')
        server.clients.close()
        server.database.close()
      }
      await Promise.all(servers.map((server) => server.running?.ended))
      await postgres.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
  try {
    for (const name of ['A', 'B']) servers.push(await newServer(name, postgres))
    // one after the other, because the first creates the tables
    for (const server of servers) await place.start(server)
  } catch (error) {
    await place.close()
    throw error
  }
  return place
}

async function newServer(name: string, postgres: Embedded): Promise<Server> {
  const direct = `http://127.0.0.1:${await freePort()}`
  const [clients, database] = await Promise.all([tcpProxy(direct), tcpProxy(overTcp(postgres.url))])
  return { name, direct, url: clients.url.replace(/\/$/, ''), state: 'down', running: null, clients, database }
}

/**
 * True for a SQLSTATE of the classes "connection" and "operator intervention", or no SQLSTATE: Postgres did not
 * answer.
 */
function isOutage(error: unknown): boolean {
  const { code } = error as { code?: string }
  // a closing socket gives EPIPE, which looks like a SQLSTATE
  return code === undefined || code === 'EPIPE' || !/^[0-9A-Z]{5}$/.test(code) || /^(08|57)/.test(code)
}

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as net.AddressInfo
  probe.close()
  return port
}
