/**
 * A database of its own for a test: a clone of the template that the run migrated once (global-setup.ts), which
 * takes some 30 ms; and a way to count the SQL statements that some code sends.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import type { Database } from '../../src/platform/postgres/client.ts'

export interface TestDatabase {
  url: string
  /** Removes it, and whoever is still connected. */
  drop(): Promise<void>
}

/** Makes a database without rows; `migrated: false`: without tables too. What is not dropped goes at the end of the run. */
export async function testDatabase({ migrated = true } = {}): Promise<TestDatabase> {
  const { url, prefix, template } = inject('postgres')
  const name = `${prefix}_${randomBytes(6).toString('hex')}`
  await asAdmin(url, (admin) => clone(admin, name, migrated ? template : 'template0'))
  return {
    url: atDatabase(url, name),
    drop: () => asAdmin(url, (admin) => dropDatabase(admin, name)),
  }
}

/** The same server, another database. */
export function atDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.toString()
}

/** The URL of an embedded Postgres without its socket: as an operator's DATABASE_URL, and for clients of one role. */
export function overTcp(url: string): string {
  const other = new URL(url)
  other.search = ''
  return other.toString()
}

/** Transactions, not what is done in them. */
const CONTROL = /^\s*(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET TRANSACTION)\b/i
/** What every server looks for at any time, whatever it is asked (domain/change-feed). */
const BY_ITSELF = /^\s*WITH (turn|told) AS MATERIALIZED/

/**
 * The texts of the SQL statements that reach Postgres through `db` while `work` runs, transaction control left out, and what servers
 * do by themselves all the time, unless that is `counted`.
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

/** Runs `work` on a connection of its own. */
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

/** Removes a database with everybody's sessions, if it is there. */
export async function dropDatabase(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
}

async function clone(admin: pg.Client, name: string, template: string): Promise<void> {
  for (;;) {
    try {
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
      return
    } catch (error) {
      // another worker's clone of the same template, or autovacuum, is there at this moment
      if ((error as pg.DatabaseError).code !== '55006') throw error
    }
  }
}
