/** Allows one keeper per deployment, even if two servers start one concurrently. `lock` has its pid and start time. */
import fs from 'node:fs'
import path from 'node:path'
import { sleep } from '../../../../platform/async/retry.ts'
import { writeAtomically } from '../../../../platform/files/atomic-file.ts'
import { processIdentity } from '../../processes/process-identity.ts'

/** wait for a keeper that is ending */
const LOCK_TIMEOUT_MS = 2000

export interface Lock {
  /** False: the folder is gone, or another keeper has the lock. An unreadable lock file counts as held. */
  held(): boolean
  release(): void
}

const UNREADABLE = 'unreadable'

/** Null: another keeper has the lock. */
export async function takeLock(folder: string): Promise<Lock | null> {
  const own = `${process.pid} ${processIdentity(process.pid)}\n`
  const file = path.join(folder, 'lock')
  const until = performance.now() + LOCK_TIMEOUT_MS
  for (; performance.now() < until; await sleep(10 + 40 * Math.random())) {
    if (isHeld(read(file))) continue
    // only one process may remove a dead keeper's lock: it announces that, and goes on if it sees no other announcement
    const announced = path.join(folder, `taking-${process.pid}`)
    writeAtomically(announced, own)
    try {
      if (othersTake(folder, path.basename(announced))) continue
      if (isHeld(read(file))) continue
      fs.rmSync(file, { force: true })
      fs.linkSync(announced, file)
      return {
        held: () => [own, UNREADABLE].includes(read(file) ?? ''),
        release: () => read(file) === own && fs.rmSync(file, { force: true }),
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
  const [living, dead] = [true, false].map((alive) =>
    others.filter((name) => isHeld(read(path.join(folder, name))) === alive),
  )
  for (const name of dead!) fs.rmSync(path.join(folder, name), { force: true })
  return living!.length > 0
}

function isHeld(text: string | null): boolean {
  if (text === UNREADABLE) return true
  const [, pid, started] = /^(\d+) (\S+)\n/.exec(text ?? '') ?? []
  return pid !== undefined && processIdentity(Number(pid)) === started
}

/** Null: the file does not exist. */
function read(file: string): string | null {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : UNREADABLE
  }
}
