/**
 * Brings a database up to date at start: applies prisma/migrations as `prisma migrate deploy` would (same table,
 * same checksums, same advisory lock), so that both can be used on one database. Prisma's own command needs a
 * native engine that it downloads; this needs nothing. And it lets servers that run meanwhile work (apply-migration.ts).
 */
import { join } from 'node:path'
import type pg from 'pg'
import { sleep } from '../async/retry.ts'
import { CHECKOUT } from '../files/checkout.ts'
import type { Log } from '../log/log.ts'
import { applyMigration, isInUse } from './apply-migration.ts'
import { type Migration, readMigrations } from './migration-files.ts'
import { readHistory, recordFailed, withHistory } from './migration-history.ts'
import { onSingleConnection } from './single-connection.ts'

const OLDEST_POSTGRES = 15

/**
 * Ends the name of a migration that servers without it can't run on; any other one leaves older servers working. They
 * find the name in the history, where they have no file to read.
 */
const BREAKING = '_breaking'

/** ms before a migration is tried again that could not have what it needs, from one try to the next; after the last one it has failed */
const RETRY_PAUSES_MS = [250, 500, 1_000, 2_000, 4_000, ...Array.from({ length: 20 }, () => 8_000)]

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
  /** how long to wait before a migration is tried again whose tables are in use, in ms: one after the other */
  pauses?: readonly number[]
}

/**
 * Applies what is missing and returns the names of those applied now. Each is one transaction, or one statement outside any.
 * Migrations of a newer version that are already in the database are left alone, with one warning. Throws MigrationError,
 * also when one of those is breaking.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<string[]> {
  const migrations = await readMigrations(options.directory ?? join(CHECKOUT, 'prisma/migrations'))
  // whatever listens there may not be Postgres, and say nothing
  return onSingleConnection(url, { name: 'migrate', connectMs: options.connectMs }, async (client) => {
    await requireVersion(client)
    if (!options.pooled) return bringUpToDate(client, migrations, options)
    if ((await findMissing(client, migrations, options.log)).length === 0) return []
    throw new MigrationError(
      'The database has to be brought up to date, which can’t be done through a connection pooler: set DATABASE_DIRECT_URL.',
    )
  })
}

async function bringUpToDate(
  client: pg.Client,
  migrations: readonly Migration[],
  { log, pauses = RETRY_PAUSES_MS }: MigrateOptions,
): Promise<string[]> {
  // a role that is used through a pooler has limits of its own, which are not for this
  await client.query('SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0')
  const applied: string[] = []
  const tries = new Map<string, number>()
  for (;;) {
    // whoever migrates, too, has a turn before the next try: it may be what stood in the way
    const inUse = await withHistory(client, log, async () => {
      // what there is to say of the history is said once
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
      'a migration waits for what others have in use: it is tried again',
    )
    await sleep(pause)
  }
}

/** Null: it is applied. An error: what it needs is in use, and nothing of it is left. Throws MigrationError for any other one. */
async function attempt(client: pg.Client, migration: Migration): Promise<unknown> {
  try {
    await applyMigration(client, migration)
    return null
  } catch (cause) {
    if (isInUse(migration, cause)) return cause
    // the next start tries again; where the connection broke, the cause says so
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

/** What the database lacks, in its order. */
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
