/**
 * Carries one migration out beside servers that run. A lock that keeps others out is waited for no longer than they can
 * bear: whoever asks for one stands in line, and all who come later stand behind it.
 */
import type pg from 'pg'
import type { Migration } from './migration-files.ts'
import { recordApplied } from './migration-history.ts'

/** ms to wait for one lock while others stand behind it */
const TABLE_LOCK_TIMEOUT_MS = 2_000
/** ms that an index made or dropped beside writers waits for a transaction that is open, a dump for one: nobody stands behind it */
const INDEX_LOCK_TIMEOUT_MS = 15 * 60_000

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/** What it needs is in use, and it may be tried again soon. */
export function isInUse({ index }: Migration, error: unknown): boolean {
  const { code } = error as { code?: unknown }
  // an index has waited long enough
  return code === DEADLOCK_DETECTED || (code === LOCK_NOT_AVAILABLE && index === null)
}

/** Applies it and puts it on record. Throws what Postgres says; nothing is left then but what can be repeated. */
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
    // the connection may have broken: the cause says so
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** What is left of an index whose making was ended: it answers nobody, but is written to. */
async function dropInvalid(client: pg.Client, index: string): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid',
    [index],
  )
  if (rowCount) await client.query(`DROP INDEX CONCURRENTLY IF EXISTS ${index}`)
}
