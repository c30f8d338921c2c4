/**
 * The `lock` file in each supervisor's folder below `run/`, with the process id and start time of its keeper. It allows one
 * keeper per deployment, and tells which supervisors live. The embedded Postgres holds their agents' databases.
 */
import fs from 'node:fs'
import path from 'node:path'
import { sleep } from '../../../platform/async/retry.ts'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import { placeCluster } from '../../../platform/postgres/embedded/account.ts'
import { shutDownUnused } from '../../../platform/postgres/embedded/postmaster.ts'
import { processIdentity } from './proc.ts'

export function supervisorLives(dataDir: string): boolean {
  const run = path.join(dataDir, 'run')
  const folders = fs.existsSync(run) ? fs.readdirSync(run) : []
  return folders.some((name) => lockHolder(path.join(run, name, 'lock')) !== null)
}

/** Called by a supervisor that has released its lock. The last one shuts down the embedded Postgres if no server uses it. */
export async function shutDownPostgresIfUnused(dataDir: string): Promise<void> {
  if (fs.existsSync(dataDir) && !supervisorLives(dataDir)) await shutDownUnused(placeCluster(dataDir).data)
}

/** Content of a lock that this process holds: its process id and identity. */
const ownLock = (): string => `${process.pid} ${processIdentity(process.pid)}\n`

/** The live process that holds a lock; null: none. `unknown`: the lock can't be read, so it may be held. */
export function lockHolder(lock: string): number | null | 'unknown' {
  try {
    const [, pid, started] = /^(\d+) (\S+)\n/.exec(fs.readFileSync(lock, 'utf8')) ?? []
    return pid !== undefined && processIdentity(Number(pid)) === started ? Number(pid) : null
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '') ? null : 'unknown'
  }
}

/** wait for a keeper that is ending */
const LOCK_TIMEOUT_MS = 2000

export interface Lock {
  /** False: the folder is gone, or another keeper has the lock. An unreadable lock file counts as held. */
  held(): boolean
  release(): void
}

/** Null: another keeper has the lock. */
export async function takeLock(folder: string): Promise<Lock | null> {
  const file = path.join(folder, 'lock')
  const until = performance.now() + LOCK_TIMEOUT_MS
  for (; performance.now() < until; await sleep(10 + 40 * Math.random())) {
    if (lockHolder(file) !== null) continue
    // only one process may remove a dead keeper's lock: it announces that, and goes on if it sees no other announcement
    const announced = path.join(folder, `taking-${process.pid}`)
    writeAtomically(announced, ownLock())
    try {
      if (othersTake(folder, path.basename(announced)) || lockHolder(file) !== null) continue
      fs.rmSync(file, { force: true })
      fs.linkSync(announced, file)
      return {
        held: () => [process.pid, 'unknown'].includes(lockHolder(file) ?? 0),
        release: () => lockHolder(file) === process.pid && fs.rmSync(file, { force: true }),
      }
    } finally {
      fs.rmSync(announced, { force: true })
    }
  }
  return null
}

/** A process that announces itself after us sees our announcement. So of two processes at least one waits. */
function othersTake(folder: string, own: string): boolean {
  const others = fs.readdirSync(folder).filter((name) => /^taking-\d+$/.test(name) && name !== own)
  const dead = others.filter((name) => lockHolder(path.join(folder, name)) === null)
  for (const name of dead) fs.rmSync(path.join(folder, name), { force: true })
  return dead.length < others.length
}
