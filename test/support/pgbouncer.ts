/** PgBouncer in transaction mode in front of a test's database, if it is installed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { systemAccount } from '../../src/platform/postgres/embedded/account.ts'
import { removeFolder } from './data-dir.ts'
import { freePort } from './free-port.ts'

/** Path of the program; null: not installed. */
export const PGBOUNCER =
  ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find((file) => fs.existsSync(file)) ??
  null

export interface Pooler {
  /** URL of the same database through the pooler. */
  url: string
  /** Renews its sessions, like its RECONNECT. */
  reconnect(): Promise<void>
  stop(): Promise<void>
}

/** `url`: the direct address of the database. `size`: sessions per role. */
export async function startPooler(url: string, size = 5): Promise<Pooler> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-pooler-'))
  await chmod(folder, 0o755)
  const listens = await freePort()
  const database = pathname.slice(1)
  const users = path.join(folder, 'users')
  const file = path.join(folder, 'pgbouncer.ini')
  await writeFile(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`, { mode: 0o644 })
  await writeFile(
    file,
    `[databases]
${database} = host=${hostname} port=${port} dbname=${database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listens}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${size}
max_client_conn = 500
admin_users = ${decodeURIComponent(username)}
`,
    { mode: 0o644 },
  )
  const account = process.getuid?.() === 0 ? systemAccount() : {}
  const child = spawn(PGBOUNCER!, ['-q', file], { ...account, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  await untilUp(listens, () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${said}`)
  })
  const through = new URL(url)
  through.host = `127.0.0.1:${listens}`
  return {
    url: through.toString(),
    async reconnect() {
      const console = new URL(through)
      console.pathname = '/pgbouncer'
      const admin = new pg.Client({ connectionString: console.toString() })
      await admin.connect()
      await admin.query('RECONNECT')
      await admin.end()
    },
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await removeFolder(folder)
    },
  }
}

async function untilUp(port: number, look: () => void): Promise<void> {
  for (;;) {
    look()
    const socket = net.connect(port, '127.0.0.1')
    const up = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (up) return
  }
}
