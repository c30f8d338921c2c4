/**
 * The connection by which deployments' databases are made and dropped. Servers take turns, so whoever hangs would keep
 * all others waiting: everything here has a limit, on both ends of the connection, and heeds the step's signal.
 */
import { Limit } from '../../../../platform/async/limit.ts'
import { within } from '../../../../platform/async/time-limit.ts'
import { PgClient } from '../../../../platform/postgres/pg-client.ts'

/** Postgres fails concurrent changes of one database's privileges, so servers take turns. Any fixed number does. */
export const PROVISIONING_LOCK_ID = 7_265_137_001

/** In ms. */
export interface DatabaseAdminTimeouts {
  connectMs: number
  /** for the turn, while other servers have theirs */
  lockMs: number
  /** one statement: to make or drop a database may take a moment on a busy machine */
  statementMs: number
  /** Postgres ends the session of a server that went silent after so long, and gives the turn on. Less than `turn`. */
  idleMs: number
}

const TIMEOUTS: DatabaseAdminTimeouts = { connectMs: 10_000, lockMs: 45_000, statementMs: 30_000, idleMs: 20_000 }

export type Query = (sql: string, values?: unknown[]) => Promise<Record<string, unknown>[]>

export interface DatabaseAdmin {
  /** of the server's own database, as a role with the right to create databases and roles */
  url: string
  /**
   * Does `work` when it is this server's turn. Rejects with the signal's reason, or with what broke the connection or
   * took too long; the connection is gone by then.
   */
  run(signal: AbortSignal, work: (query: Query) => Promise<void>): Promise<void>
}

/** Connects for each run anew. */
export function createDatabaseAdmin(url: string, limits: DatabaseAdminTimeouts = TIMEOUTS): DatabaseAdmin {
  // within a server it is decided without a connection whose turn it is
  const turns = new Limit(1)
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
    // a moment more than Postgres has: this one is for a connection on which nothing comes back
    query_timeout: Math.max(limits.lockMs, limits.statementMs) + 5000,
  })
  // a connection that breaks fails the query under way; without a listener it would end the server
  client.on('error', () => undefined)
  // not end(): it waits for an answer
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
    await within(1000, client.end())
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', cut)
    cut()
  }
}
