/**
 * A Postgres installed on this machine, as an operator has one, with its programs; its data is removed when it stops.
 * Null if none is installed, or without `pg_dump`.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { systemAccount } from '../../src/platform/postgres/embedded/account.ts'
import { removeFolder } from './data-dir.ts'
import { asAdmin } from './database.ts'
import { freePort } from './free-port.ts'

const PROGRAMS = ['postgres', 'initdb', 'pg_dump', 'pg_restore']
const OLDEST = 15

/** Folder of the programs; null: not installed. */
export function ownPrograms(): string | null {
  const debian = '/usr/lib/postgresql'
  const versions = fs.existsSync(debian) ? fs.readdirSync(debian).filter((name) => Number(name) >= OLDEST) : []
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => path.join(debian, version, 'bin'))
  return folders.find((folder) => PROGRAMS.every((name) => fs.existsSync(path.join(folder, name)))) ?? null
}

export interface OwnPostgres {
  /** URL of an empty database, as a role that may create databases and roles. */
  url: string
  /** Drops the database of `url` and the others next to it, and creates it again, as on a new machine. */
  empty(): Promise<void>
  stop(): Promise<void>
}

export async function startOwnPostgres(programs: string): Promise<OwnPostgres> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-own-'))
  const account = process.getuid?.() === 0 ? systemAccount() : null
  const password = path.join(folder, 'password')
  await writeFile(password, 'own postgres', { mode: 0o644 })
  await chmod(folder, 0o711)
  const data = path.join(folder, 'data')
  fs.mkdirSync(data, { mode: 0o700 })
  if (account) await chown(data, account.uid, account.gid)
  const run = { ...account, cwd: '/', env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' } }
  await promisify(execFile)(
    path.join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=scram-sha-256', `--pwfile=${password}`, '--encoding=UTF8', '--no-sync'],
    run,
  )
  const port = await freePort()
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off'].flatMap((set) => ['-c', set])
  const server = spawn(path.join(programs, 'postgres'), ['-D', data, '-p', String(port), ...settings], {
    ...run,
    stdio: 'ignore',
  })
  const admin = `postgres://postgres:${encodeURIComponent('own postgres')}@127.0.0.1:${port}/postgres`
  // a role like those of providers: it may create databases and roles, but is no superuser
  const url = `postgres://operator:operator@127.0.0.1:${port}/control_plane`
  await untilUp(admin)
  await asAdmin(admin, async (client) => {
    await client.query(`CREATE ROLE operator LOGIN CREATEDB CREATEROLE PASSWORD 'operator'`)
    await client.query('CREATE DATABASE control_plane OWNER operator')
  })
  return {
    url,
    empty: () =>
      asAdmin(admin, async (client) => {
        const { rows } = await client.query<{ name: string }>(
          `SELECT datname AS name FROM pg_database WHERE datname = 'control_plane' OR datname LIKE 'app\\_%'`,
        )
        for (const { name } of rows) await client.query(`DROP DATABASE ${name} WITH (FORCE)`)
        const roles = await client.query<{ name: string }>(
          `SELECT rolname AS name FROM pg_roles WHERE rolname LIKE 'app\\_%'`,
        )
        for (const { name } of roles.rows) await client.query(`DROP ROLE ${name}`)
        await client.query('CREATE DATABASE control_plane OWNER operator')
      }),
    async stop() {
      const ended = once(server, 'exit')
      server.kill('SIGINT')
      await ended
      await removeFolder(folder)
    },
  }
}

async function untilUp(url: string): Promise<void> {
  for (const until = Date.now() + 30_000; ; )
    try {
      return await asAdmin(url, async (client) => void (await client.query('SELECT 1')))
    } catch (error) {
      if (Date.now() > until) throw error
    }
}
