/**
 * Checks a connection pooler (such as PgBouncer in transaction mode) at start. A pooler's clients have no session: no
 * LISTEN, no session locks, no session settings. The role must have the settings instead.
 */
import pg from 'pg'
import { onSingleConnection } from './single-connection.ts'

/** The pooler or its role is not set up as required. `message` is for the operator. */
class PoolerError extends Error {}

const ANSWER_MS = 10_000

/** Role timeouts in ms: the accepted maximum and our recommendation. */
const BOUNDS = {
  statement_timeout: { most: 60_000, recommended: 20_000 },
  lock_timeout: { most: 30_000, recommended: 5_000 },
  idle_in_transaction_session_timeout: { most: 60_000, recommended: 10_000 },
} as const

/** Whether `url` is a pooler. A direct connection reports its session's process id; a pooler reports a made-up one. */
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
  /** setting → value in ms */
  settings: Record<string, string>
}

/** Throws PoolerError unless sessions behind `pooled` have the settings that direct connections get from us. */
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
    // the adapter writes times without offset and reads them as UTC
    ...(/^(Etc\/)?UTC$/i.test(zone) ? [] : [`timezone = 'UTC'`]),
    ...Object.entries(BOUNDS)
      .filter(([name, { most }]) => !(Number(settings[name]) > 0 && Number(settings[name]) <= most))
      .map(([name, { recommended }]) => `${name} = '${recommended / 1000}s'`),
  ]
  if (lacking.length === 0) return
  const where = `ALTER ROLE ${pg.escapeIdentifier(role)} IN DATABASE ${pg.escapeIdentifier(database)}`
  const statements = lacking.map((setting) => `${where} SET ${setting};`)
  throw new PoolerError(
    `A connection pooler passes no settings of a session on, so they have to stand at the role. Run ${statements.join(' ')} Then make the pooler reconnect (PgBouncer: RECONNECT)`,
  )
}

/** Throws PoolerError unless `direct` reaches the database behind `pooled` without a pooler. */
export async function requireDirect(direct: string, pooled: string): Promise<void> {
  if (await isPooled(direct))
    throw new PoolerError('DATABASE_DIRECT_URL has to go past every connection pooler, but one answers there')
  // an advisory lock is visible in all sessions of the same database, and nowhere else
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
