/**
 * Finds live supervisors of a DATA_DIR by the `lock` file in each folder below `run/`. The embedded Postgres holds their agents'
 * databases, so it keeps running until the last supervisor ends.
 */
import fs from 'node:fs'
import path from 'node:path'
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
export const ownLock = (): string => `${process.pid} ${processIdentity(process.pid)}\n`

/** The live process that holds a lock; null: none. `unknown`: the lock can't be read, so it may be held. */
export function lockHolder(lock: string): number | null | 'unknown' {
  try {
    const [, pid, started] = /^(\d+) (\S+)\n/.exec(fs.readFileSync(lock, 'utf8')) ?? []
    return pid !== undefined && processIdentity(Number(pid)) === started ? Number(pid) : null
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '') ? null : 'unknown'
  }
}
