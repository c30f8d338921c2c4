/**
 * Creates and drops a Postgres database for each deployment, with a role of the same name that can connect to no other. Both are
 * on the server's own Postgres. The password is in a file that only the server can read.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import pg from 'pg'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import type { DatabaseAdmin } from './database-admin.ts'

/** connection limit until database-limits.ts sets the deployment's own */
const INITIAL_MAX_CONNECTIONS = 10

/** `app_` and the id's hexadecimal digits: needs no quoting, and is the same after a crash. */
export function databaseName(deploymentId: string): string {
  if (!/^[0-9a-f-]{36}$/.test(deploymentId)) throw new Error('A deployment ID is a UUID in lower case')
  return `app_${deploymentId.replaceAll('-', '')}`
}

/** Creates role and database if they are missing. Idempotent. Rejects like `DatabaseAdmin.run`. */
export async function createDatabase(
  admin: DatabaseAdmin,
  deploymentId: string,
  file: string,
  signal: AbortSignal,
): Promise<void> {
  const name = databaseName(deploymentId)
  const password = readPassword(file) ?? newPassword(file)
  await admin.run(signal, async (query) => {
    const login = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS`
    const verb = (await query('SELECT 1 FROM pg_roles WHERE rolname = $1', [name])).length > 0 ? 'ALTER' : 'CREATE'
    await query(`${verb} ROLE ${name} ${login} CONNECTION LIMIT ${INITIAL_MAX_CONNECTIONS} PASSWORD '${password}'`)
    if ((await query('SELECT 1 FROM pg_database WHERE datname = $1', [name])).length === 0) {
      // a role that is not superuser can only give a database to a role it is a member of
      const [me] = await query('SELECT rolsuper FROM pg_roles WHERE rolname = current_user')
      if (!me?.rolsuper) await query(`GRANT ${name} TO CURRENT_USER`)
      await query(`CREATE DATABASE ${name} OWNER ${name} TEMPLATE template0`)
    }
    const [server] = await query('SELECT current_database() AS name')
    for (const database of [name, String(server?.name)]) {
      const [open] = await query("SELECT has_database_privilege('public', $1, 'CONNECT') AS open", [database])
      if (open?.open) await query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${pg.escapeIdentifier(database)} FROM PUBLIC`)
    }
  })
}

/** Drops database and role even while clients are connected. Idempotent. Rejects like `DatabaseAdmin.run`. */
export async function dropDatabase(admin: DatabaseAdmin, deploymentId: string, signal: AbortSignal): Promise<void> {
  const name = databaseName(deploymentId)
  await admin.run(signal, async (query) => {
    await query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    await query(`DROP ROLE IF EXISTS ${name}`)
  })
}

/** The deployment's connection URI; null before `createDatabase`. Computed each time, because the server's port can change. */
export function databaseUri(admin: DatabaseAdmin, deploymentId: string, file: string): string | null {
  const password = readPassword(file)
  if (password === null) return null
  const url = new URL(admin.url)
  const name = databaseName(deploymentId)
  url.username = name
  url.password = password
  url.pathname = `/${name}`
  const sslmode = url.searchParams.get('sslmode')
  url.search = sslmode ? `?sslmode=${encodeURIComponent(sslmode)}` : ''
  return url.href
}

export function readPassword(file: string): string | null {
  try {
    return (JSON.parse(fs.readFileSync(file, 'utf8')) as { password: string }).password
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

function newPassword(file: string): string {
  const password = randomBytes(24).toString('hex')
  writeAtomically(file, JSON.stringify({ password }))
  return password
}
