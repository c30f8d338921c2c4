/** Starts a door, and replaces a running door of another version. Gives it the file of the access log, which it may not create. */
import { type ChildProcess, spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { openToAppend } from '../../../platform/files/atomic-file.ts'
import { buildOf, connectToDoor } from './door-connection.ts'
import type { DoorProgram, Place } from './messages.ts'

/** Configuration of a door: one JSON line on its standard input. */
export interface DoorConfig {
  folder: string
  /** addresses that it takes over, with its file descriptors of their listening sockets; absent: none */
  inherited?: InheritedAddress[]
}

export interface InheritedAddress extends Place {
  deployment: string
  /** deployments of one port have the same */
  fd: number
  /** of the socket for IPv6, if there is one */
  fd6?: number
}

/** Limits V8's young generation (MB): V8 does not give back what a burst of requests made it grow by. */
const MEMORY_OPTIONS = ['--max-semi-space-size=8']

/** from the start of a door until it listens; then another may be started */
const START_MS = 3000
/** The folder's owner has fewer rights than a server: a link must not make us write elsewhere. */
const APPEND = fs.constants.O_WRONLY | fs.constants.O_APPEND | fs.constants.O_CREAT | fs.constants.O_NOFOLLOW

/**
 * Starts the program as a process that outlives this one, unless a start is running: keepers lose a door at the same moment.
 * Throws when a file can't be created. A second door ends by itself.
 */
export function startDoor(program: DoorProgram): void {
  const { folder, account } = program
  if (!announceStart(folder)) return
  const errors = fs.openSync(path.join(folder, 'error.log'), APPEND, 0o600)
  try {
    const child = spawnDoor(program, { folder }, { account, stdio: ['ignore', errors] })
    // its Node.js may be gone; another keeper may have a newer one
    child.once('error', () => startIsOver(folder))
  } finally {
    fs.closeSync(errors)
  }
}

const startingIn = (folder: string) => path.join(folder, 'starting')

/** False: another start is running. */
function announceStart(folder: string): boolean {
  const file = startingIn(folder)
  const since = fs.lstatSync(file, { throwIfNoEntry: false })?.mtimeMs
  // the clock may have been set back
  if (since !== undefined && Math.abs(Date.now() - since) < START_MS) return false
  fs.rmSync(file, { force: true })
  try {
    fs.closeSync(fs.openSync(file, 'wx', 0o600))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** The door listens, or was not started. */
export function startIsOver(folder: string): void {
  fs.rmSync(startingIn(folder), { force: true })
}

/** Starts the program under our account and with our stderr. It prints a line on its stdout when it listens. */
export function startNextDoor(program: DoorProgram, config: DoorConfig, sockets: number[]): ChildProcess {
  return spawnDoor(program, config, { account: null, stdio: ['pipe', 'inherit', ...sockets] })
}

interface SpawnOptions {
  account: DoorProgram['account']
  /** from stdout on */
  stdio: ('ignore' | 'pipe' | 'inherit' | number)[]
}

function spawnDoor({ node, file }: DoorProgram, config: DoorConfig, { account, stdio }: SpawnOptions): ChildProcess {
  const child = spawn(node, [...MEMORY_OPTIONS, file], {
    cwd: '/',
    env: {},
    detached: true,
    ...(account ? { uid: account.uid, gid: account.gid } : {}),
    stdio: ['pipe', ...stdio],
  })
  child.on('error', () => undefined)
  child.stdin!.on('error', () => undefined).end(`${JSON.stringify(config)}\n`)
  child.unref()
  return child
}

/** Replaces a running door by this program, unless it is the same. Throws with the reason when that fails. */
export async function updateDoor(program: DoorProgram): Promise<void> {
  const connection = await connectToDoor(program.folder)
  if (!connection) return
  try {
    const hello = await connection.request({ do: 'hello', deployment: null })
    if (!hello || hello.build === buildOf(program.file)) return
    const answer = await connection.request({ do: 'replace', program })
    if (answer?.problem) throw new Error(answer.problem)
  } finally {
    connection.close()
  }
}

/**
 * Creates the file when it is missing, also after a log rotation, and gives it to the door's account (null: the server's). Throws
 * with the reason.
 */
export async function giveToDoor(file: string, account: DoorProgram['account']): Promise<void> {
  const handle = await openToAppend(file)
  try {
    const { uid, gid, size } = await handle.stat()
    if (!account || uid === account.uid) return
    // a path by mistake must not give away another program's file
    if (size > 0) throw new Error(`the file has the owner ${uid}, not the door's account: chown ${account.uid} ${file}`)
    await handle.chown(account.uid, gid)
  } finally {
    await handle.close()
  }
}
