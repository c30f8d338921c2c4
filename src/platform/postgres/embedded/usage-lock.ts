/**
 * Counts users of the embedded Postgres, so the last one stops it. Each server holds a shared advisory lock on a dedicated
 * connection, which `kill -9` also releases. A server that gets the exclusive lock is the last.
 */
import pg from 'pg'
import { PgClient } from '../pg-client.ts'
import { onSingleConnection } from '../single-connection.ts'

/** Shared for users, exclusive for stopping. The keys are only used in this database. */
const USERS_LOCK = 7_074_831
/** Held while databases are created. */
const SETUP_LOCK = 7_074_832
const CONNECT_MS = 5_000

export interface UsageLock {
  /** Resolves when its connection ends: from then on this server is not counted. */
  ended: Promise<void>
  /** Runs `whenLast` if no other server uses Postgres. No server can join until it ends. */
  leave(whenLast: () => Promise<void>): Promise<void>
}

/** Registers a user. Null: Postgres is not ready or is stopping. `url`: any database, as superuser. */
export async function join(url: string): Promise<UsageLock | null> {
  const client = await connect(url)
  if (!client) return null
  if (!(await lock(client, 'pg_try_advisory_lock_shared'))) {
    await client.end().catch(() => {})
    return null
  }
  return {
    ended: new Promise((resolve) => client.once('end', resolve)),
    async leave(whenLast) {
      try {
        await client.query('SELECT pg_advisory_unlock_shared($1)', [USERS_LOCK]).catch(() => {})
        if (await lock(client, 'pg_try_advisory_lock')) await whenLast()
      } finally {
        await client.end().catch(() => {})
      }
    },
  }
}

/**
 * Creates the database if it is missing. Revokes access to it and to the standard databases from all roles but the
 * superuser.
 */
export async function ensureDatabase(url: string, name: string): Promise<void> {
  await onSingleConnection(url, { name: 'embedded', connectMs: CONNECT_MS }, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [SETUP_LOCK])
    const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)} ENCODING 'UTF8'`)
    await client.query(`REVOKE ALL ON DATABASE ${pg.escapeIdentifier(name)}, postgres, template1 FROM PUBLIC`)
  })
}

/** Null: not available yet or any more. A wrong password is an error. */
async function connect(url: string): Promise<pg.Client | null> {
  const client = new PgClient({
    connectionString: url,
    application_name: 'pilothouse embedded',
    connectionTimeoutMillis: CONNECT_MS,
  })
  client.on('error', () => {}) // `end` follows
  try {
    await client.connect()
    return client
  } catch (error) {
    client.end().catch(() => {})
    const { code } = error as pg.DatabaseError
    if (code === '28P01' || code === '28000') throw error
    return null
  }
}

/** Also false when the connection broke. */
async function lock(client: pg.Client, how: 'pg_try_advisory_lock' | 'pg_try_advisory_lock_shared'): Promise<boolean> {
  try {
    const { rows } = await client.query<{ got: boolean }>(`SELECT ${how}($1) AS got`, [USERS_LOCK])
    return rows[0]!.got
  } catch {
    return false
  }
}
