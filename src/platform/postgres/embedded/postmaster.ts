/** The process of the embedded Postgres: find it, start it, end it. Several servers share one, whoever started it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { sleep } from '../../async/retry.ts'
import { type Cluster, ENVIRONMENT } from './cluster.ts'

/** As its file tells, `postmaster.pid` among its data. */
export interface Postmaster {
  pid: number
  /** the data directory, in the words it was started with */
  folder: string
  port: number
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '200',
  // for us: agents with leaks must not shut us out
  superuser_reserved_connections: '50',
  // keep what is stored, and statements with passwords in them, out of the log
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
}
/** A log longer than this, in bytes, is put aside at the next start. */
const LONGEST_LOG = 10_000_000
/** How long a shutdown may take before it is cut short (the next start then recovers), in ms. */
const SHUTDOWN_MS = 30_000

/** Undefined: none runs on these files, and none that starts now will be hindered by what the last one left. */
export function findPostmaster(data: string): Postmaster | undefined {
  const content = readPidFile(data)
  if (content === undefined) return undefined
  const [pid, folder, , port] = content.split('\n')
  const postmaster = { pid: Number(pid), folder: folder ?? '', port: Number(port) }
  if (isRunning(postmaster)) return postmaster
  if (content !== '' || isRemnant(data)) removePidFile(data, content)
  return undefined
}

/** The port of the last start, which agents have in their environment. Undefined: there was none. */
export function lastPort(data: string): number | undefined {
  try {
    const [, port] = / "-p" "(\d+)"/.exec(fs.readFileSync(path.join(data, 'postmaster.opts'), 'utf8')) ?? []
    return port === undefined ? undefined : Number(port)
  } catch {
    return undefined
  }
}

/** Its output goes to the log file; `said` tells what it wrote since this start. */
export function spawnPostmaster(
  { binaries, data, log, account }: Cluster,
  port: number,
  settings: Record<string, string>,
): { child: ChildProcess; said(): string } {
  if (sizeOf(log) > LONGEST_LOG) fs.renameSync(log, `${log}.old`)
  const begin = sizeOf(log)
  const output = fs.openSync(log, 'a', 0o600)
  try {
    const options = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(binaries.postgres, ['-D', data, '-p', String(port), ...options], {
      ...account,
      cwd: '/',
      env: ENVIRONMENT,
      // in a session of its own: Ctrl-C in a terminal is for us, who drain first and then stop it
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

/** Ends it, with everybody's sessions, and waits until it is gone. */
export async function shutDown(postmaster: Postmaster): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(postmaster.pid, signal)
    for (const until = Date.now() + SHUTDOWN_MS; Date.now() < until; await sleep(10)) if (!isRunning(postmaster)) return
  }
}

function pidFile(data: string): string {
  return path.join(data, 'postmaster.pid')
}

function readPidFile(data: string): string | undefined {
  try {
    return fs.readFileSync(pidFile(data), 'utf8')
  } catch {
    return undefined
  }
}

function sizeOf(file: string): number {
  return fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

/** It is empty for an instant while Postgres makes it; for longer only after a power failure. */
function isRemnant(data: string): boolean {
  const made = fs.statSync(pidFile(data), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - made > 10_000
}

/** Is it still this process? After a reboot the pid in the file may be anybody's. */
function isRunning({ pid, folder }: Postmaster): boolean {
  try {
    const command =
      process.platform === 'linux'
        ? fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(`/postgres -D ${folder} `)
  } catch {
    return false
  }
}

/**
 * Postgres won't start while the pid in its file is that of any process of its account, and two that start at once may
 * remove each other's file as a dead one's. Moved, then looked at: a new one may have written the file meanwhile, and
 * gets it back.
 */
function removePidFile(data: string, stale: string): void {
  const file = pidFile(data)
  const aside = `${file}.${randomBytes(6).toString('hex')}`
  try {
    fs.renameSync(file, aside)
  } catch {
    return // another process did it
  }
  if (fs.readFileSync(aside, 'utf8') !== stale) fs.linkSync(aside, file)
  fs.unlinkSync(aside)
}
