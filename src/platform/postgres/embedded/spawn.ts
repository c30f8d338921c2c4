/** Starts the embedded Postgres's process. */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Cluster, ENVIRONMENT } from './cluster.ts'
import { DATA_DIR_SETTING } from './postmaster.ts'

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  // the data directory: only Postgres's account and root can enter it. A relative path is never too long
  unix_socket_directories: '.',
  unix_socket_permissions: '0700',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '200',
  // reserved for servers: agents that leak connections must not lock us out
  superuser_reserved_connections: '50',
  // keeps stored data and statements with passwords out of the log
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}
/** A larger log is renamed at the next start. */
const MAX_LOG_BYTES = 10_000_000

/** Its output goes to the log file; `said` returns the output since this start. */
export function spawnPostmaster(
  { binaries, data, log, account }: Cluster,
  port: number,
  settings: Record<string, string>,
): { child: ChildProcess; said(): string } {
  if (sizeOf(log) > MAX_LOG_BYTES) fs.renameSync(log, `${log}.old`)
  // after a crash the pid in this file may belong to another process, which blocks the start; postmaster.pid protects the
  // data
  fs.rmSync(path.join(data, `.s.PGSQL.${port}.lock`), { force: true })
  const begin = sizeOf(log)
  const output = fs.openSync(log, 'a', 0o600)
  try {
    // last, so a folder with spaces can be parsed from the command line
    const named = { ...SETTINGS, ...settings, [DATA_DIR_SETTING]: path.dirname(log) }
    const options = Object.entries(named).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(binaries.postgres, ['-D', data, '-p', String(port), ...options], {
      ...account,
      cwd: '/',
      env: ENVIRONMENT,
      // separate session: Ctrl-C in a terminal must reach only us, who drain first and then stop Postgres
      detached: true,
      stdio: ['ignore', 'ignore', output],
    })
    child.unref()
    let error = ''
    child.once('error', ({ message }) => {
      error = message
    })
    return { child, said: () => error + fs.readFileSync(log).subarray(begin).toString() }
  } finally {
    fs.closeSync(output)
  }
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
