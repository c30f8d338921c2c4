/** Reads prisma/migrations, and their history in the table and under the advisory lock of Prisma's command. */
import { createHash, randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { sleep } from '../async/retry.ts'
import type { Log } from '../log/log.ts'

/** Advisory lock of Prisma's migrate; only one of several starting servers gets it. */
const PRISMA_LOCK = 72_707_369
const LOCK_RETRY_MS = 100
/** wait for the lock before a log line */
const LOG_AFTER_MS = 5_000
/** Same definition as Prisma's. */
const HISTORY_TABLE = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL, "checksum" VARCHAR(64) NOT NULL, "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL, "logs" TEXT, "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(), "applied_steps_count" INTEGER NOT NULL DEFAULT 0)`
const COLUMNS = `INSERT INTO "_prisma_migrations" (id, checksum, migration_name,`

/**
 * Runs `work` under the migration lock, with an existing history table. It polls for the lock: a blocked statement would be
 * an open transaction, and CREATE INDEX CONCURRENTLY waits for those.
 */
export async function withHistory<T>(client: pg.Client, log: Log | undefined, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  let isTold = false
  for (;;) {
    const { rows } = await client.query<{ free: boolean }>('SELECT pg_try_advisory_lock($1) AS free', [PRISMA_LOCK])
    if (rows[0]!.free) break
    if (!isTold && performance.now() - begun > LOG_AFTER_MS) {
      log?.info({}, 'another process migrates the database; this start waits for it')
      isTold = true
    }
    await sleep(LOCK_RETRY_MS)
  }
  try {
    await client.query(HISTORY_TABLE)
    return await work()
  } finally {
    // a closed connection has already released the lock
    await client.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]).catch(() => {})
  }
}

interface Entry {
  checksum: string
  isFinished: boolean
}

/** Name → recorded state, without rolled-back entries. */
export async function readHistory(client: pg.Client): Promise<Map<string, Entry>> {
  const there = await client.query<{ there: boolean }>(
    `SELECT to_regclass('"_prisma_migrations"') IS NOT NULL AS there`,
  )
  if (!there.rows[0]!.there) return new Map()
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
     FROM "_prisma_migrations" WHERE rolled_back_at IS NULL`,
  )
  return new Map(rows.map(({ name, checksum, finished }) => [name, { checksum, isFinished: finished }]))
}

export async function recordApplied(client: pg.Client, { checksum, name }: Migration): Promise<void> {
  const statement = `${COLUMNS} finished_at, applied_steps_count) VALUES ($1, $2, $3, now(), 1)`
  await client.query(statement, [randomUUID(), checksum, name])
}

export async function recordFailed(client: pg.Client, { checksum, name }: Migration, cause: unknown): Promise<void> {
  const statement = `${COLUMNS} rolled_back_at, logs) VALUES ($1, $2, $3, now(), $4)`
  await client.query(statement, [randomUUID(), checksum, name, String(cause)])
}

export interface Migration {
  name: string
  script: string
  /** SHA-256 of the script, hex */
  checksum: string
  /** checksums of earlier texts of this script with the same result */
  formerChecksums: readonly string[]
  /**
   * A single repeatable statement that runs outside a transaction. (Prisma sends a file as one text; Postgres runs it as a
   * transaction unless it is a single statement.)
   */
  isOutside: boolean
  /** index created or dropped `CONCURRENTLY`, as written in SQL; null: none */
  index: string | null
}

const OUTSIDE = /^-- outside a transaction\b/m
const FORMER = /^-- formerly ([0-9a-f]{64})$/gm
const INDEX = /^(?:CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS|DROP INDEX CONCURRENTLY IF EXISTS) ("\w+")/m

/** Reads a folder of `<name>/migration.sql`, ordered by name. */
export async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const script = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return {
        name,
        script,
        checksum: createHash('sha256').update(script).digest('hex'),
        formerChecksums: [...script.matchAll(FORMER)].map(([, checksum]) => checksum!),
        isOutside: OUTSIDE.test(script),
        index: INDEX.exec(script)?.[1] ?? null,
      }
    }),
  )
}
