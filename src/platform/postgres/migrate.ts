/**
 * Applies prisma/migrations at start like `prisma migrate deploy` (same table, checksums and advisory lock), so both work
 * on one database. Prisma's command needs a downloaded native engine; this does not. Running servers keep working
 * (each lock wait is limited).
 */
import { join } from 'node:path'
import type pg from 'pg'
import { sleep } from '../async/retry.ts'
import { CHECKOUT } from '../files/checkout.ts'
import type { Log } from '../log/log.ts'
import {
  type Migration,
  readHistory,
  readMigrations,
  recordApplied,
  recordFailed,
  withHistory,
} from './migration-history.ts'
import { onSingleConnection } from './single-connection.ts'

const OLDEST_POSTGRES = 15

/**
 * Name suffix of a migration that older servers can't run on. All other migrations keep older servers working. Older
 * servers see only the name, in the history.
 */
const BREAKING = '_breaking'

/** pauses before retries of a migration whose tables are in use; after the last one it fails */
const RETRY_PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, ...Array.from({ length: 20 }, () => 8_000)]

/** The database can't be migrated. `message` is one line for the operator. */
export class MigrationError extends Error {}

export interface MigrateOptions {
  log?: Log
  /** connect timeout in ms; default 30 s (a sleeping database has to wake up) */
  connectMs?: number
  /** folder of `<name>/migration.sql`; default: the project's prisma/migrations */
  directory?: string
  /** `url` is a pooler, which can't hold the advisory lock: a missing migration is an error */
  pooled?: boolean
  /** pauses between retries while tables are in use, in ms */
  pauses?: readonly number[]
}

/**
 * Applies missing migrations and returns their names. Each is one transaction, or one statement outside a transaction.
 * Newer, unknown migrations in the database cause a warning. Throws MigrationError, also for an unknown breaking migration.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? join(CHECKOUT, 'prisma/migrations'))
  // the program that listens there may not be Postgres and may never respond
  return onSingleConnection(url, { name: 'migrate', connectMs: options.connectMs }, async (client) => {
    await requireVersion(client)
    if (!options.pooled) return bringUpToDate(client, migrations, options)
    if ((await findMissing(client, migrations, options.log)).length === 0) return []
    throw new MigrationError(
      'The database needs migrations, which can’t be done through a connection pooler: set DATABASE_DIRECT_URL.',
    )
  })
}

async function bringUpToDate(
  client: pg.Client,
  migrations: readonly Migration[],
  { log, pauses = RETRY_PAUSES_MS }: MigrateOptions,
): Promise<string[]> {
  // a role for a pooler has timeouts that must not apply here
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0')
  const applied: string[] = []
  const tries = new Map<string, number>()
  for (;;) {
    // other migrating servers get a turn before the retry: they may have caused the conflict
    const inUse = await withHistory(client, log, async () => {
      // log remarks about the history only once
      const missing = await findMissing(client, migrations, applied.length + tries.size > 0 ? undefined : log)
      for (const migration of missing) {
        const failure = await attempt(client, migration)
        if (failure) return { migration, failure }
        applied.push(migration.name)
      }
      return null
    })
    if (!inUse) return applied
    const { migration, failure } = inUse
    const tried = tries.get(migration.name) ?? 0
    const pause = pauses[tried]
    if (pause === undefined) throw failed(migration, failure)
    tries.set(migration.name, tried + 1)
    log?.warn(
      { migration: migration.name, reason: (failure as Error).message },
      'a migration waits for tables in use and is tried again',
    )
    await sleep(pause)
  }
}

/** Null: applied. An error: a needed lock is in use and nothing was changed. Throws MigrationError for other errors. */
async function attempt(client: pg.Client, migration: Migration): Promise<unknown> {
  try {
    await applyMigration(client, migration)
    return null
  } catch (cause) {
    if (isInUse(migration, cause)) return cause
    // the next start retries; when the connection broke, `cause` says so
    await recordFailed(client, migration, cause).catch(() => {})
    throw failed(migration, cause)
  }
}

function failed({ name, isOutside }: Migration, cause: unknown): MigrationError {
  const what = isOutside ? 'failed' : 'failed and was rolled back'
  return new MigrationError(`Migration ${name} ${what}: ${(cause as Error).message}`, { cause })
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
  const version = rows[0]!.server_version
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    throw new MigrationError(`Postgres ${OLDEST_POSTGRES} or newer is needed; this server is ${version}.`)
}

async function findMissing(
  client: pg.Client,
  migrations: readonly Migration[],
  log: Log | undefined,
): Promise<Migration[]> {
  const history = await readHistory(client)
  for (const [name, { isFinished }] of history)
    if (!isFinished)
      throw new MigrationError(
        `Migration ${name} was begun earlier and did not finish. Repair the database, then mark it with \`npx prisma migrate resolve\`.`,
      )
  requireKnown(migrations, [...history.keys()], log)
  return migrations.filter(({ name, checksum, formerChecksums }) => {
    const known = history.get(name)?.checksum
    if (known !== undefined && known !== checksum && !formerChecksums.includes(known))
      log?.warn({ migration: name }, 'a migration was changed after it was applied')
    return known === undefined
  })
}

/** For rolling upgrades and downgrades: migrations of a newer version must not be breaking. */
function requireKnown(migrations: readonly Migration[], applied: readonly string[], log: Log | undefined): void {
  const known = new Set(migrations.map(({ name }) => name))
  const newer = applied.filter((name) => !known.has(name))
  const breaking = newer.find((name) => name.endsWith(BREAKING))
  if (breaking)
    throw new MigrationError(
      `The database belongs to a newer version, and this one can't work on it since migration ${breaking}: start the newer version, or this one on a backup from before.`,
    )
  if (newer.length > 0)
    log?.warn({ migrations: newer }, 'a newer version has migrated the database; this version can work on it')
}

/** other statements queue behind this wait */
const TABLE_LOCK_TIMEOUT_MS = 2_000
/** wait of CREATE/DROP INDEX CONCURRENTLY for open transactions (a dump, for example); nothing queues behind it */
const INDEX_LOCK_TIMEOUT_MS = 15 * 60_000

const LOCK_NOT_AVAILABLE = '55P03'
const DEADLOCK_DETECTED = '40P01'

/** True when the migration needs something in use and a retry may succeed. */
function isInUse({ index }: Migration, error: unknown): boolean {
  const { code } = error as { code?: unknown }
  // an index build has already waited long enough
  return code === DEADLOCK_DETECTED || (code === LOCK_NOT_AVAILABLE && index === null)
}

/**
 * Applies and records the migration. On an error it leaves only changes that can be repeated, and throws Postgres's error.
 */
async function applyMigration(client: pg.Client, migration: Migration): Promise<void> {
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
