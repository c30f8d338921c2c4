/**
 * Creates and drops a Postgres database for each deployment, with a role of the same name that can connect to no other. Both are
 * on the server's own Postgres. The password is in a file that only the server can read.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import pg from 'pg'
import { Semaphore } from '../../../platform/async/semaphore.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import { PgClient } from '../../../platform/postgres/pg-client.ts'

/** connection limit until database-limits.ts sets the deployment's own */
const INITIAL_MAX_CONNECTIONS = 10

/** `app_` and the id's hexadecimal digits: needs no quoting, and is the same after a crash. */
export function databaseName(deploymentId: string): string {
  if (!/^[0-9a-f-]{36}$/.test(deploymentId)) throw new Error('A deployment ID is a UUID in lower case')
  return `app_${deploymentId.replaceAll('-', '')}`
}

/** Creates role and database if they are missing. Idempotent. Rejects like `DatabaseAdmin.run`. */
export async function createDatabase(
  admin: DatabaseAdmin,
  deploymentId: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const name = databaseName(deploymentId)
  const password = readPassword(file) ?? newPassword(file)
  await admin.run(signal, async (query) => {
    const login = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS`
    const verb = (await query('SELECT 1 FROM pg_roles WHERE rolname = $1', [name])).length > 0 ? 'ALTER' : 'CREATE'
    await query(`${verb} ROLE ${name} ${login} CONNECTION LIMIT ${INITIAL_MAX_CONNECTIONS} PASSWORD '${password}'`)
    if ((await query('SELECT 1 FROM pg_database WHERE datname = $1', [name])).length === 0) {
      // a role that is not superuser can only give a database to a role it is a member of
      const [me] = await query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user')
      if (!me?.rolsuper) await query(`GRANT ${name} TO CURRENT_USER`)
      await query(`CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`)
    }
    const [server] = await query('SELECT current_database() AS name')
    for (const database of [name, String(server?.name)]) {
      const [open] = await query("SELECT has_database_privilege('public', $1, 'CONNECT') AS open", [database])
      if (open?.open) await query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${pg.escapeIdentifier(database)} FROM PUBLIC`)
    }
  })
}

/** Drops database and role even while clients are connected. Idempotent. Rejects like `DatabaseAdmin.run`. */
export async function dropDatabase(admin: DatabaseAdmin, deploymentId: string, signal: AbortSignal): Promise<void> {
  const name = databaseName(deploymentId)
  await admin.run(signal, async (query) => {
    await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await query(`DROP ROLE IF EXISTS ${name}`)
  })
}

/** The deployment's connection URI; null before `createDatabase`. Computed each time, because the server's port can change. */
export function databaseUri(admin: DatabaseAdmin, deploymentId: string, file: string): string | null {
  const password = readPassword(file)
  if (password === null) return null
  const url = new URL(admin.url)
  const name = databaseName(deploymentId)
  url.username = name
  url.password = password
  url.pathname = `/${name}`
  const sslmode = url.searchParams.get('sslmode')
  url.search = sslmode ? `?sslmode=${encodeURIComponent(sslmode)}` : ''
  return url.href
}

export function readPassword(file: string): string | null {
  try {
    return (JSON.parse(fs.readFileSync(file, 'utf8')) as { password: string }).password
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function newPassword(file: string): string {
  const password = randomBytes(24).toString('hex')
  writeAtomically(file, JSON.stringify({ password }))
  return password
}

/**
 * Id of the advisory lock; any fixed number works. Postgres fails concurrent changes of one database's privileges, so servers
 * take turns.
 */
export const PROVISIONING_LOCK_ID = 7_265_137_001

export interface DatabaseAdminTimeouts {
  connectMs: number
  lockMs: number
  /** one statement: creating or dropping a database can be slow on a busy machine */
  statementMs: number
  /** Postgres ends an idle session after this time, which frees the lock. Less than `lockMs`. */
  idleMs: number
}

const TIMEOUTS: DatabaseAdminTimeouts = { connectMs: 10_000, lockMs: 45_000, statementMs: 30_000, idleMs: 20_000 }

export type Query = (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

export interface DatabaseAdmin {
  url: string
  /**
   * Runs `work` under the lock. Rejects with the signal's reason, or with the timeout or connection error. The connection is
   * closed by then.
   */
  run(signal: AbortSignal, work: (query: Query) => Promise<void>): Promise<void>
}

export function createDatabaseAdmin(url: string, limits: DatabaseAdminTimeouts = TIMEOUTS): DatabaseAdmin {
  // callers in this process queue here, without a connection
  const turns = new Semaphore(1)
  return {
    url,
    run: (signal, work) => turns.run(signal, () => session(url, limits, signal, work)),
  }
}

async function session(
  url: string,
  limits: DatabaseAdminTimeouts,
  signal: AbortSignal,
  work: (query: Query) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted()
  const client = new PgClient({
    connectionString: url,
    application_name: 'pilothouse provisioning',
    connectionTimeoutMillis: limits.connectMs,
    keepAlive: true,
    // longer than Postgres's own timeouts: this one covers a connection that no longer answers
    query_timeout: Math.max(limits.lockMs, limits.statementMs) + 5000,
  })
  // a broken connection fails the running query; without a listener it would also end the server
  client.on('error', () => undefined)
  // not end(), which waits for an answer
  const cut = () => void client.connection.stream.destroy()
  signal.addEventListener('abort', cut)
  const query: Query = async (sql, values) => {
    signal.throwIfAborted()
    return (await client.query(sql, values)).rows
  }
  try {
    await client.connect()
    await query(`SET idle_session_timeout = ${limits.idleMs}; SET lock_timeout = ${limits.lockMs}`)
    await query('SELECT pg_advisory_lock($1)', [PROVISIONING_LOCK_ID])
    await query(`SET statement_timeout = ${limits.statementMs}`)
    await work(query)
    await resultWithin(1000, client.end())
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', cut)
    cut()
  }
}
