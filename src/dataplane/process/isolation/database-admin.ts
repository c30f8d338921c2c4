/**
 * Runs statements that create, change and drop deployments' databases. Servers take turns by an advisory lock. Every wait has a
 * timeout on both ends, so a server that hangs can't block the others.
 */
import { Semaphore } from '../../../platform/async/semaphore.ts'
import { resultWithin } from '../../../platform/async/time-limit.ts'
import { PgClient } from '../../../platform/postgres/pg-client.ts'

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
