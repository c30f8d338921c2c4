/**
 * The process of the embedded Postgres: find it, end it. Several servers share one, whoever started it. Supervisors use
 * this, too, so it needs nothing that is not Node's.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { sleep } from '../../async/retry.ts'
import { runningProcesses } from '../../programs/running.ts'

/** Servers connect as this role, and nobody else does. */
export const SUPERUSER = 'postgres'

/** As its file tells, `postmaster.pid` among its data. */
export interface Postmaster {
  pid: number
  /** the data directory, in the words it was started with */
  folder: string
  port: number
  /** False: `hasSocket` is not known yet. */
  isListening: boolean
  /** False: an earlier version started it, or its socket can't be made. */
  hasSocket: boolean
}

/** A setting of our own: names the DATA_DIR of a Postgres, whose files may be in another folder. */
export const DATA_DIR_SETTING = 'pilothouse.data_dir'

/** How long a shutdown may take before it is cut short (the next start then recovers), in ms. */
const SHUTDOWN_MS = 30_000
/** How long a connection that was closed may be seen, in ms. */
const CLOSING_MS = 1000

/** Undefined: none runs on these files, and none that starts now will be hindered by what the last one left. */
export function findPostmaster(data: string): Postmaster | undefined {
  const content = readPidFile(data)
  if (content === undefined) return undefined
  const [pid, folder, , port, socketFolder, , , status] = content.split('\n')
  const postmaster = {
    pid: Number(pid),
    folder: folder ?? '',
    port: Number(port),
    isListening: Boolean(status), // written after both
    hasSocket: Boolean(socketFolder),
  }
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

/** Ends it, with everybody's sessions, and waits until it is gone. */
export async function shutDown(postmaster: Postmaster): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(postmaster.pid, signal)
    for (const until = Date.now() + SHUTDOWN_MS; Date.now() < until; await sleep(10)) if (!isRunning(postmaster)) return
  }
}

/**
 * Ends it when no server is connected, and does not wait for its end. A connection that was closed just now is seen for a
 * moment more.
 */
export async function shutDownUnused(data: string): Promise<void> {
  const postmaster = findPostmaster(data)
  if (!postmaster) return
  for (const until = Date.now() + CLOSING_MS; await hasServers(postmaster); await sleep(100))
    if (Date.now() > until) return
  if (isRunning(postmaster)) process.kill(postmaster.pid, 'SIGINT')
}

/** DATA_DIRs whose Postgres runs on this machine, as far as this account can see. */
export async function dataDirsInUse(): Promise<string[]> {
  const named = new RegExp(`/postgres -D .* -c ${DATA_DIR_SETTING}=(.+?) ?$`)
  const found = (await runningProcesses().catch(() => [])).map(({ command }) => named.exec(command)?.[1])
  return [...new Set(found.filter((folder) => folder !== undefined))].sort()
}

/** Its processes have titles: `postgres: <role> <database> <address>(<port>) …`, or `[local]` in place of the address. */
async function hasServers({ pid }: Postmaster): Promise<boolean> {
  const ofServers = new RegExp(`postgres: ${SUPERUSER} \\S+ (\\S+\\(\\d+\\)|\\[local\\])`)
  return (await runningProcesses()).some(({ parent, command }) => parent === pid && ofServers.test(command))
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
