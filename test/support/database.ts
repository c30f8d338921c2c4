/**
 * A separate database for a test: a clone of the template that the run migrated once (global-setup.ts), which takes
 * about 30 ms. Also counts the SQL statements of a function.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import type { Database } from '../../src/platform/postgres/client.ts'
import { useStarted } from './started.ts'

export interface TestDatabase {
  url: string
  /** Drops it and ends its sessions. */
  drop(): Promise<void>
}

/** Creates a database without rows; `migrated: false`: without tables too. The end of the run drops what is left. */
export async function testDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const { url, prefix, template } = inject('postgres')
  const name = `${prefix}_${randomBytes(6).toString('hex')}`
  await asAdmin(url, (admin) => clone(admin, name, migrated ? template : 'template0'))
  return {
    url: atDatabase(url, name),
    drop: () => asAdmin(url, (admin) => dropDatabase(admin, name)),
  }
}

/** One database for all tests of the file. */
export const useDatabase = (): TestDatabase =>
  useStarted(async () => {
    const database = await testDatabase()
    return { ...database, close: database.drop }
  })

/** The URL of another database on the same server. */
export function atDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.toString()
}

/** The TCP URL of an embedded Postgres, as an operator's DATABASE_URL, and for clients with one role. */
export function overTcp(url: string): string {
  const other = new URL(url)
  other.search = ''
  return other.toString()
}

/** Transaction control. */
const CONTROL = /^\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET TRANSACTION)\b/i
/** Statements that every server runs in the background at any time: change feed, webhooks, alerts, metrics, logs, sweeps. */
const BY_ITSELF = new RegExp(
  `^\\s*(${[
    'WITH (turn|told) AS MATERIALIZED',
    'WITH forgotten AS',
    'SELECT DISTINCT d\\.id FROM deployments d JOIN steps',
    'UPDATE token_revocations SET tries',
    'SELECT t\\.id, t\\.version FROM oauth_tokens',
    'SELECT coalesce\\(\\(SELECT time <',
    'SELECT r\\.id AS "revisionId", t\\.type, edge',
    'SET LOCAL enable_sort',
    'SELECT EXISTS \\(SELECT 1\\s+FROM webhook_endpoints',
    'SELECT DISTINCT kind FROM alert_rules',
    'SELECT resolution, until, target FROM metric_rollups',
    'SELECT max\\(id\\) AS id FROM log_lines',
    'SELECT (d\\.id|deployment_id) AS "deploymentId", (t\\.)?type',
  ].join('|')})`,
)

/**
 * Returns the SQL statements that reach Postgres through `db` while `work` runs, without transaction control and the
 * servers' background statements, unless those are `counted`.
 */
export async function countStatements(
  db: Database,
  work: () => Promise<unknown>,
  counted: 'all' | 'asked' = 'asked',
): Promise<string[]> {
  const statements: string[] = []
  const stop = db.onQuery((sql) => {
    if (!CONTROL.test(sql) && (counted === 'all' || !BY_ITSELF.test(sql))) statements.push(sql)
  })
  try {
    await work()
  } finally {
    stop()
  }
  return statements
}

/** Runs `work` on a separate connection. */
export async function asAdmin<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Drops a database and its sessions, if it exists. */
export async function dropDatabase(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
}

/** Copies files instead of logging each page, which is cheaper where a checkpoint doesn't wait for the disk. */
const STRATEGY = process.env.TEST_DATABASE_URL ? 'WAL_LOG' : 'FILE_COPY'

async function clone(admin: pg.Client, name: string, template: string): Promise<void> {
  for (;;) {
    try {
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY ${STRATEGY}`)
      return
    } catch (error) {
      // another worker clones the same template at this moment, or autovacuum runs on it
      if ((error as pg.DatabaseError).code !== '55006') throw error
    }
  }
}
