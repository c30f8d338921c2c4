/**
 * Files of supervisors in `DATA_DIR/run`: the secret of all connections, and a folder for each supervisor (README.md).
 * Only the server's account can read them.
 */
import { createHash, randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readOrCreate, writeAtomically } from '../../../platform/files/atomic-file.ts'
import { lockHolder } from '../processes/supervisor-locks.ts'

export type SupervisorFiles = ReturnType<typeof filesIn>

/** Identity of a supervisor, stored in `about.json`. */
export interface SupervisorInfo {
  deploymentId: string
  installation: string
  socket: string
}

/** The address of a Unix socket has room for 103 bytes on macOS, 107 on Linux. */
const MAX_SOCKET_BYTES = 100

const hash = (text: string, digits: number) => createHash('sha256').update(text).digest('hex').slice(0, digits)

/** `dataDir`: an existing folder. */
const runFolder = (dataDir: string) => path.join(fs.realpathSync(dataDir), 'run')

export function supervisorFiles(dataDir: string, deploymentId: string): SupervisorFiles {
  return filesIn(path.join(runFolder(dataDir), hash(deploymentId, 12)))
}

function filesIn(folder: string) {
  const file = (name: string) => path.join(folder, name)
  return {
    folder,
    lock: file('lock'),
    fence: file('fence'),
    /** touched when the deployment has requests, at most once a minute */
    served: file('served'),
    /** exists while the agent is asleep: the key of its plan */
    asleep: file('asleep'),
    output: file('output'),
    errors: file('error.log'),
  }
}

/** All supervisors with a folder in the DATA_DIR, running or not. */
export function knownSupervisors(dataDir: string): { about: SupervisorInfo; files: SupervisorFiles }[] {
  if (!fs.existsSync(dataDir)) return []
  const run = runFolder(dataDir)
  const names = fs.existsSync(run) ? fs.readdirSync(run) : []
  return names.flatMap((name) => {
    const files = filesIn(path.join(run, name))
    const about = readSupervisorInfo(files)
    return about ? [{ about, files }] : []
  })
}

export function readSupervisorInfo({ folder }: SupervisorFiles): SupervisorInfo | null {
  try {
    return JSON.parse(fs.readFileSync(path.join(folder, 'about.json'), 'utf8')) as SupervisorInfo
  } catch {
    return null // no supervisor, or another server is removing its folder
  }
}

/** Creates the supervisor's folder and its `about.json`. */
export function makeSupervisorFolder(dataDir: string, deploymentId: string, installation: string): SupervisorInfo {
  const { folder } = supervisorFiles(dataDir, deploymentId)
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const about: SupervisorInfo = { deploymentId, installation, socket: socketFor(dataDir, folder) }
  writeAtomically(path.join(folder, 'about.json'), JSON.stringify(about))
  return about
}

/** Uses a temporary folder if the path would be too long. Throws when that folder belongs to another account. */
function socketFor(dataDir: string, folder: string): string {
  const own = path.join(folder, 'sock')
  if (Buffer.byteLength(own) <= MAX_SOCKET_BYTES) return own
  const short = path.join(os.tmpdir(), `pilothouse-${hash(runFolder(dataDir), 16)}`)
  fs.mkdirSync(short, { recursive: true, mode: 0o700 })
  const { uid, mode } = fs.lstatSync(short)
  if (uid !== (process.getuid?.() ?? uid) || mode & 0o077)
    throw new Error(`${short} must belong to this server's account, and be closed to all others.`)
  return path.join(short, path.basename(folder))
}

/** The secret of the DATA_DIR. Creates it if necessary. */
export function secretOf(dataDir: string): string {
  const folder = runFolder(dataDir)
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  return readOrCreate(path.join(folder, 'secret'), () => randomBytes(32).toString('hex'))
}

/** Null: there is no secret, so no supervisor was ever started. */
export function readSecret(dataDir: string): string | null {
  try {
    return fs.readFileSync(path.join(runFolder(dataDir), 'secret'), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Kills a supervisor that does not answer. The next supervisor ends its leftover processes. */
export function killSupervisor({ lock }: SupervisorFiles): void {
  const holder = lockHolder(lock)
  if (typeof holder === 'number') process.kill(holder, 'SIGKILL')
}

/** Time of the last request, with a precision of a minute, in ms of Date.now(); 0: unknown. */
export function lastServedAt({ served }: SupervisorFiles): number {
  return fs.statSync(served, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Whether `token` is the newest token seen by this supervisor, across its restarts. */
export function isNewestToken({ fence }: SupervisorFiles, token: string): boolean {
  try {
    return BigInt(fs.readFileSync(fence, 'utf8').trim()) === BigInt(token)
  } catch {
    return false
  }
}
