/**
 * Dumps and restores an external Postgres, as files in a folder: `server.dump`, and one for each deployment's database by
 * name.
 */
import { mkdir, readdir } from 'node:fs/promises'
import path from 'node:path'
import pg from 'pg'
import { dump, type ProgramEnvironment, restoreDump } from './pg-programs.ts'
import { onSingleConnection } from './single-connection.ts'

const SERVER = 'server.dump'
/** Comment on a database while its restore is unfinished. */
const COMMENT = 'pilothouse: being restored'

/**
 * Dumps the server's database as of one moment, and the existing databases of its deployments. `nameOf`: deployment id →
 * database name. Throws DumpError.
 */
export async function saveDumps(
  url: string,
  folder: string,
  nameOf: (deploymentId: string) => string,
  env: ProgramEnvironment,
): Promise<void> {
  await mkdir(folder, { mode: 0o700 })
  await connected(url, async (client) => {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const { rows } = await client.query<{ snapshot: string }>('SELECT pg_export_snapshot() AS snapshot')
    const deployments = await client.query<{ id: string }>('SELECT id FROM deployments')
    await dump(url, path.join(folder, SERVER), env, rows[0]!.snapshot)
    const there = await client.query<{ name: string }>(
      'SELECT datname AS name FROM pg_database WHERE datname = ANY ($1)',
      [deployments.rows.map(({ id }) => nameOf(id))],
    )
    for (const { name } of there.rows) await dump(atDatabase(url, name), path.join(folder, `${name}.dump`), env)
  })
}

export async function namesOfDumps(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== SERVER).map((name) => path.basename(name, '.dump'))
}

/** Why a restore can't start, for people; null: it can. Databases of an interrupted restore are no obstacle. */
export function restoreObstacle(url: string, names: string[]): Promise<string | null> {
  return connected(url, async (client) => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_class WHERE relnamespace IN
        (SELECT oid FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema') LIMIT 1`,
    )
    if (rowCount) return 'The database of DATABASE_URL is not empty: drop it and create it again.'
    const { rows } = await client.query<{ name: string }>(
      `SELECT datname AS name FROM pg_database
       WHERE datname = ANY ($1) AND shobj_description(oid, 'pg_database') IS DISTINCT FROM $2`,
      [names, COMMENT],
    )
    return rows.length === 0
      ? null
      : `These databases are there already, drop them first: ${rows.map(({ name }) => name).join(', ')}`
  })
}

/**
 * Restores the dumps. `create` makes an empty database with a role of the same name. The server's database comes last,
 * because the others are not used without it. Throws DumpError.
 */
export async function restoreDumps(
  url: string,
  folder: string,
  create: (name: string) => Promise<void>,
  env: ProgramEnvironment,
): Promise<void> {
  const names = await namesOfDumps(folder)
  for (const name of names) {
    await connected(url, (client) => client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`))
    await create(name)
    await comment(url, name, COMMENT)
    await restoreDump(atDatabase(url, name), path.join(folder, `${name}.dump`), env, name)
  }
  await restoreDump(url, path.join(folder, SERVER), env)
  for (const name of names) await comment(url, name, null)
}

async function comment(url: string, name: string, text: string | null): Promise<void> {
  const value = text === null ? 'NULL' : pg.escapeLiteral(text)
  await connected(url, (client) => client.query(`COMMENT ON DATABASE ${pg.escapeIdentifier(name)} IS ${value}`))
}

function atDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return onSingleConnection(url, { name: 'backup' }, work)
}
