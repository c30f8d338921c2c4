/**
 * The supervisors of a DATA_DIR that live: each keeper has a `lock` in its folder below `run/`. The embedded Postgres
 * has their agents' databases, so it stays as long as one of them does.
 */
import fs from 'node:fs'
import path from 'node:path'
import { placeCluster } from '../../../../platform/postgres/embedded/account.ts'
import { shutDownUnused } from '../../../../platform/postgres/embedded/postmaster.ts'
import { processIdentity } from './process-identity.ts'

/** Whether any of them lives. */
export function supervisorLives(dataDir: string): boolean {
  const run = path.join(dataDir, 'run')
  const folders = fs.existsSync(run) ? fs.readdirSync(run) : []
  return folders.some((name) => isHeld(path.join(run, name, 'lock')))
}

/** For a keeper that has given its lock back: the last one ends the embedded Postgres, if there is one, unless a server is there. */
export async function shutDownPostgresIfUnused(dataDir: string): Promise<void> {
  if (fs.existsSync(dataDir) && !supervisorLives(dataDir)) await shutDownUnused(placeCluster(dataDir).data)
}

/** Its text: process id, and when that was started. */
function isHeld(lock: string): boolean {
  try {
    const [pid, started] = fs.readFileSync(lock, 'utf8').trim().split(' ')
    return processIdentity(Number(pid)) === started
  } catch (error) {
    // there is none; what can't be read may be held
    return !['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}
