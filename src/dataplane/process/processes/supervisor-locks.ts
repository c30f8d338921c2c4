/**
 * Finds live supervisors of a DATA_DIR by the `lock` file in each folder below `run/`. The embedded Postgres holds their agents'
 * databases, so it keeps running until the last supervisor ends.
 */
import fs from 'node:fs'
import path from 'node:path'
import { placeCluster } from '../../../platform/postgres/embedded/account.ts'
import { shutDownUnused } from '../../../platform/postgres/embedded/postmaster.ts'
import { processIdentity } from './process-identity.ts'

export function supervisorLives(dataDir: string): boolean {
  const run = path.join(dataDir, 'run')
  const folders = fs.existsSync(run) ? fs.readdirSync(run) : []
  return folders.some((name) => isHeld(path.join(run, name, 'lock')))
}

/** Called by a supervisor that has released its lock. The last one shuts down the embedded Postgres if no server uses it. */
export async function shutDownPostgresIfUnused(dataDir: string): Promise<void> {
  if (fs.existsSync(dataDir) && !supervisorLives(dataDir)) await shutDownUnused(placeCluster(dataDir).data)
}

/** A lock contains the process id and the process's start time. */
function isHeld(lock: string): boolean {
  try {
    const [pid, started] = fs.readFileSync(lock, 'utf8').trim().split(' ')
    return processIdentity(Number(pid)) === started
  } catch (error) {
    // no lock; one that can't be read may be held
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}
