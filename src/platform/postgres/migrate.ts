/**
 * Brings a database up to date at start: applies prisma/migrations as `prisma migrate deploy` would (same table,
 * same checksums, same advisory lock), so that both can be used on one database. Prisma's own command needs a
 * native engine that it downloads; this needs nothing.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { CHECKOUT } from '../files/checkout.ts'
import type { Log } from '../log/log.ts'

/** The advisory lock that Prisma's migrate takes; several servers that start at once queue for it. */
const PRISMA_LOCK = 72_707_369
const OLDEST_POSTGRES = 15
/** As Prisma makes it. */
const HISTORY_TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL, "checksum" VARCHAR(64) NOT NULL, "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL, "logs" TEXT, "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(), "applied_steps_count" INTEGER NOT NULL DEFAULT 0)`

/**
 * Ends the name of a migration that servers without it can't run on; any other one leaves older servers working. They
 * find the name in the history, where they have no file to read.
 */
const BREAKING = '_breaking'

/** The database can't be brought up to date. `message` is one line for the operator. */
export class MigrationError extends Error {}

export interface MigrateOptions {
  log?: Log
  /** how long the database may take to let us in, in ms; default 30 s (one that sleeps has to wake up) */
  connectMs?: number
  /** folder of `<name>/migration.sql`; default: the project's prisma/migrations */
  directory?: string
  /** `url` is a pooler, which can't hold the lock: what is missing is an error */
  pooled?: boolean
}

interface Migration {
  name: string
  script: string
  /** SHA-256 of the script, hex */
  checksum: string
}

/**
 * Applies what is missing, each migration in one transaction, and returns the names of those applied now.
 * Migrations of a newer version that are already in the database are left alone, with one warning. Throws MigrationError,
 * also when one of those is breaking.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? join(CHECKOUT, 'prisma/migrations'))
  const client = new pg.Client({
    connectionString: url,
    application_name: 'pilothouse migrate',
    keepAlive: true,
    // whatever listens there may not be Postgres, and say nothing
    connectionTimeoutMillis: options.connectMs ?? 30_000,
  })
  client.on('error', () => {}) // the query under way rejects; the event alone would end the process
  await client.connect()
  try {
    await requireVersion(client)
    if (!options.pooled) await lockHistory(client)
    const applied = await readHistory(client)
    requireKnown(migrations, [...applied.keys()], options.log)
    const missing = migrations.filter(({ name, checksum }) => {
      const known = applied.get(name)
      if (known !== undefined && known !== checksum)
        options.log?.warn({ migration: name }, 'a migration was changed after it was applied')
      return known === undefined
    })
    if (options.pooled && missing.length > 0)
      throw new MigrationError(
        'The database has to be brought up to date, which can’t be done through a connection pooler: set DATABASE_DIRECT_URL.',
      )
    for (const migration of missing) await apply(client, migration)
    return missing.map(({ name }) => name)
  } finally {
    await client.end() // the lock goes with the session
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const script = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return { name, script, checksum: createHash('sha256').update(script).digest('hex') }
    }),
  )
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('SHOW server_version')
  const version = rows[0]!.server_version
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    throw new MigrationError(`Postgres ${OLDEST_POSTGRES} or newer is needed; this server is ${version}.`)
}

/** Waits for others that migrate, then makes sure that there is a history. */
async function lockHistory(client: pg.Client): Promise<void> {
  // a role that is used through a pooler has limits of its own, which are not for this
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0')
  await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK])
  await client.query(HISTORY_TABLE)
}

/** name → checksum of what has been applied. */
async function readHistory(client: pg.Client): Promise<Map<string, string>> {
  const there = await client.query<{ there: boolean }>(
    `SELECT to_regclass('"_prisma_migrations"') IS NOT NULL AS there`,
  )
  if (!there.rows[0]!.there) return new Map()
  const { rows } = await client.query<{ migration_name: string; checksum: string; finished_at: Date | null }>(
    `SELECT migration_name, checksum, finished_at FROM "_prisma_migrations" WHERE rolled_back_at IS NULL`,
  )
  const unfinished = rows.find((row) => row.finished_at === null)
  if (unfinished)
    throw new MigrationError(
      `Migration ${unfinished.migration_name} was begun earlier and did not finish. Repair the database, then mark it with \`npx prisma migrate resolve\`.`,
    )
  return new Map(rows.map((row) => [row.migration_name, row.checksum]))
}

/** Of a rolling upgrade, or of going back: what a newer version has applied must leave this one working. */
function requireKnown(migrations: readonly Migration[], applied: readonly string[], log: Log | undefined): void {
  const known = new Set(migrations.map(({ name }) => name))
  const newer = applied.filter((name) => !known.has(name))
  const breaking = newer.find((name) => name.endsWith(BREAKING))
  if (breaking)
    throw new MigrationError(
      `The database belongs to a newer version, and this one can't work on it since migration ${breaking}: start the newer version, or this one on a backup from before.`,
    )
  if (newer.length > 0)
    log?.warn({ migrations: newer }, 'the database is of a newer version, which this one can work on')
}

async function apply(client: pg.Client, { name, script, checksum }: Migration): Promise<void> {
  const id = randomUUID()
  const columns = `INSERT INTO "_prisma_migrations" (id, checksum, migration_name,`
  try {
    await client.query('BEGIN')
    await client.query(script)
    await client.query(`${columns} finished_at, applied_steps_count) VALUES ($1, $2, $3, now(), 1)`, [
      id,
      checksum,
      name,
    ])
    await client.query('COMMIT')
  } catch (cause) {
    // nothing of it is left, and the record says so: the next start tries again
    const record = `${columns} rolled_back_at, logs) VALUES ($1, $2, $3, now(), $4)`
    await client
      .query('ROLLBACK')
      .then(() => client.query(record, [id, checksum, name, String(cause)]))
      .catch(() => {}) // the connection broke: the cause says so
    throw new MigrationError(`Migration ${name} failed and was rolled back: ${(cause as Error).message}`, { cause })
  }
}
