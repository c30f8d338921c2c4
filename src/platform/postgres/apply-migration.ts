/**
 * Applies one migration while servers run. It limits each lock wait: other statements queue behind a waiting exclusive
 * lock.
 */
import type pg from 'pg'
import { type Migration, recordApplied } from './migration-history.ts'

/** other statements queue behind this wait */
const TABLE_LOCK_TIMEOUT_MS = 2_000
/** wait of CREATE/DROP INDEX CONCURRENTLY for open transactions (a dump, for example); nothing queues behind it */
const INDEX_LOCK_TIMEOUT_MS = 15 * 60_000

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/** True when the migration needs something in use and a retry may succeed. */
export function isInUse({ index }: Migration, error: unknown): boolean {
  const { code } = error as { code?: unknown }
  // an index build has already waited long enough
  return code === DEADLOCK_DETECTED || (code === LOCK_NOT_AVAILABLE && index === null)
}

/**
 * Applies and records the migration. On an error it leaves only changes that can be repeated, and throws Postgres's error.
 */
export async function applyMigration(client: pg.Client, migration: Migration): Promise<void> {
  if (migration.isOutside) {
    await client.query(`SET lock_timeout = ${migration.index ? INDEX_LOCK_TIMEOUT_MS : TABLE_LOCK_TIMEOUT_MS}`)
    if (migration.index) await dropInvalid(client, migration.index)
    await client.query(migration.script)
    await recordApplied(client, migration)
    return
  }
  try {
    await client.query(`BEGIN; SET LOCAL lock_timeout = ${TABLE_LOCK_TIMEOUT_MS}`)
    await client.query(migration.script)
    await recordApplied(client, migration)
    await client.query('COMMIT')
  } catch (error) {
    // the connection may have broken; the original error says so
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** Drops an invalid index of an interrupted build: no query uses it, but every write updates it. */
async function dropInvalid(client: pg.Client, index: string): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
    [index],
  )
  if (rowCount) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
}
