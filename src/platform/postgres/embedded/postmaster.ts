/**
 * Finds and stops the embedded Postgres's process. Supervisors use this file, so it imports only Node and small helpers.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { sleep } from '../../async/retry.ts'
import { runningProcesses } from '../../programs/running.ts'

export const SUPERUSER = 'postgres'

/** Content of `postmaster.pid` in its data directory. */
export interface Postmaster {
  pid: number
  /** data directory as written in its command line */
  folder: string
  port: number
  /** False: `hasSocket` is not known yet. */
  isListening: boolean
  /** False: an earlier version started it, or it can't create a socket. */
  hasSocket: boolean
}

/** A custom Postgres setting with the DATA_DIR, because the files may be in another folder. */
export const DATA_DIR_SETTING = 'pilothouse.data_dir'

/** Then the shutdown is forced, and the next start recovers. */
const SHUTDOWN_MS = 30_000
/** How long a closed connection may stay visible. */
const CLOSING_MS = 1000

/** Undefined: none runs on these files. It then also removes remains that would block a start. */
export function findPostmaster(data: string): Postmaster | undefined {
  const content = readPidFile(data)
  if (content === undefined) return undefined
  const [pid, folder, , port, socketFolder, , , status] = content.split('\n')
  const postmaster = {
    pid: Number(pid),
    folder: folder ?? '',
    port: Number(port),
    isListening: Boolean(status), // written after pid and port
    hasSocket: Boolean(socketFolder),
  }
  if (isRunning(postmaster)) return postmaster
  if (content !== '' || isRemnant(data)) removePidFile(data, content)
  return undefined
}

/** Port of the last start, which agents have in their environment. Undefined: never started. */
export function lastPort(data: string): number | undefined {
  try {
    const [, port] = / "-p" "(\d+)"/.exec(fs.readFileSync(path.join(data, 'postmaster.opts'), 'utf8')) ?? []
    return port === undefined ? undefined : Number(port)
  } catch {
    return undefined
  }
}

/** Stops it, ends all sessions, and waits until it is gone. */
export async function shutDown(postmaster: Postmaster): Promise<void> {
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    process.kill(postmaster.pid, signal)
    for (const until = Date.now() + SHUTDOWN_MS; Date.now() < until; await sleep(10)) if (!isRunning(postmaster)) return
  }
}

/**
 * Stops it if no server is connected, without waiting for its end. A connection closed just now stays visible for a moment.
 */
export async function shutDownUnused(data: string): Promise<void> {
  const postmaster = findPostmaster(data)
  if (!postmaster) return
  for (const until = Date.now() + CLOSING_MS; await hasServers(postmaster); await sleep(100))
    if (Date.now() > until) return
  if (isRunning(postmaster)) process.kill(postmaster.pid, 'SIGINT')
}

/** DATA_DIRs whose Postgres runs on this machine and is visible to this account. */
export async function dataDirsInUse(): Promise<string[]> {
  const named = new RegExp(`/postgres -D .* -c ${DATA_DIR_SETTING}=(.+?) ?$`)
  const found = (await runningProcesses().catch(() => [])).map(({ command }) => named.exec(command)?.[1])
  return [...new Set(found.filter((folder) => folder !== undefined))].sort()
}

/** Process titles: `postgres: <role> <database> <address>(<port>) …`, or `[local]` in place of the address. */
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

/** The file is empty for an instant while Postgres creates it; for longer only after a power failure. */
function isRemnant(data: string): boolean {
  const made = fs.statSync(pidFile(data), { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY
  return Date.now() - made > 10_000
}

/** Whether the pid still belongs to this Postgres. After a reboot it may belong to another process. */
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
 * Postgres does not start while the pid in its file belongs to any process of its account, and two concurrent starts may
 * remove each other's file. So rename first, then check; a file of a new Postgres is restored.
 */
function removePidFile(data: string, stale: string): void {
  const file = pidFile(data)
  const aside = `${file}.${randomBytes(6).toString('hex')}`
  try {
    fs.renameSync(file, aside)
  } catch {
    return // another process removed it
  }
  if (fs.readFileSync(aside, 'utf8') !== stale) fs.linkSync(aside, file)
  fs.unlinkSync(aside)
}
