/**
 * What a connection pooler between us and Postgres (PgBouncer in transaction mode, and its like) takes away, found out at
 * the start. Through one, a statement or a transaction has a session, but a client has none: no LISTEN, no lock of a
 * session, and no settings of our own, which have to stand at the role instead.
 */
import pg from 'pg'
import { onSingleConnection } from './single-connection.ts'

/** A pooler that we can't work with as it is. `message` is for the operator. */
class PoolerError extends Error {}

const ANSWER_MS = 10_000

/** How long things may take in a session that we can't set up: the most that a setting of the role may be, and what we recommend, in ms. */
const BOUNDS = {
  statement_timeout: { most: 60_000, recommended: 20_000 },
  lock_timeout: { most: 30_000, recommended: 5_000 },
  idle_in_transaction_session_timeout: { most: 60_000, recommended: 10_000 },
} as const

/**
 * Whether a pooler answers at `url`. The process id that a client is told when it connects is that of its session; a pooler
 * makes one up, since it has no session to give.
 */
export function isPooled(url: string): Promise<boolean> {
  return connected(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return rows[0]!.pid !== (client as unknown as { processID: number }).processID
  })
}

interface RoleSettings {
  role: string
  database: string
  zone: string
  /** name → value in ms */
  settings: Record<string, string>
}

/** Throws PoolerError unless the sessions behind `pooled` have the settings that we give our own. */
export async function requireRoleSettings(pooled: string): Promise<void> {
  const { role, database, zone, settings } = await connected(pooled, async (client) => {
    const { rows } = await client.query<RoleSettings>(
      `SELECT current_user AS role, current_database() AS database, current_setting('TimeZone') AS zone,
              (SELECT json_object_agg(name, setting) FROM pg_settings WHERE name = ANY ($1)) AS settings`,
      [Object.keys(BOUNDS)],
    )
    return rows[0]!
  })
  const lacking = [
    // the adapter writes times without an offset, and reads them as UTC
    ...(/^(Etc\/)?UTC$/i.test(zone) ? [] : [`timezone = 'UTC'`]),
    ...Object.entries(BOUNDS)
      .filter(([name, { most }]) => !(Number(settings[name]) > 0 && Number(settings[name]) <= most))
      .map(([name, { recommended }]) => `${name} = '${recommended / 1000}s'`),
  ]
  if (lacking.length === 0) return
  const where = `ALTER ROLE ${pg.escapeIdentifier(role)} IN DATABASE ${pg.escapeIdentifier(database)}`
  const statements = lacking.map((setting) => `${where} SET ${setting};`)
  throw new PoolerError(
    `A connection pooler passes no settings of a session on, so they have to stand at the role. Run ${statements.join(' ')} Then let the pooler connect anew (PgBouncer: RECONNECT)`,
  )
}

/** Throws PoolerError unless `direct` is the database behind `pooled`, and reached without a pooler. */
export async function requireDirect(direct: string, pooled: string): Promise<void> {
  if (await isPooled(direct))
    throw new PoolerError('DATABASE_DIRECT_URL has to go past every connection pooler, but one answers there')
  // a lock of one session is seen in every other one of the same database, and nowhere else
  const key = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)
  const same = await connected(direct, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [key])
    return connected(pooled, async (other) => {
      const { rows } = await other.query<{ free: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS free', [key])
      return !rows[0]!.free
    })
  })
  if (!same) throw new PoolerError('DATABASE_DIRECT_URL and DATABASE_URL are not the same database')
}

function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return onSingleConnection(url, { name: 'start', answerMs: ANSWER_MS }, work)
}
