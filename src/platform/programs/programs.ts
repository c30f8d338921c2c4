/**
 * Keeps copies of programs that outlive their checkout: `npm ci` deletes files below a running process. Each copy has a
 * folder named by its content hash. It is created in one rename, never changed, and removed when unused.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { chmod, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import path from 'node:path'
import { type RunningProcess, runningProcesses } from './running.ts'

export interface Program {
  /** identity: its text, or its name and version */
  identity: string
  /** path below its folder → size in bytes */
  files: ReadonlyMap<string, number>
  /** Writes the files into an empty folder, readable by every account. */
  write(folder: string): Promise<void>
}

/** Prefix of unfinished copies, and of copies that are being removed. */
const DRAFT = '.draft-'
/**
 * A copy used more recently stays: a process may be about to run it. Servers mark their copies regularly, because processes
 * of other containers are invisible.
 */
const FRESH_MS = 24 * 3600_000

/** Creates the copy below `bin` if it is missing. Returns its folder, absolute and without symbolic links. */
export async function ensureCopy(bin: string, { identity, files, write }: Program): Promise<string> {
  if (fs.mkdirSync(bin, { recursive: true, mode: 0o755 }) !== undefined) fs.chmodSync(bin, 0o755)
  const named = createHash('sha256')
    .update(JSON.stringify([identity, [...files].sort()]))
    .digest('hex')
    .slice(0, 16)
  const folder = path.join(fs.realpathSync(bin), named)
  if (!isWhole(folder, files)) {
    const draft = await mkdtemp(path.join(bin, DRAFT))
    try {
      await write(draft)
      await chmod(draft, 0o755)
      await moveTo(folder, draft, files)
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }
  await markInUse(folder)
  return folder
}

/** Protects a copy from removal for another day. */
export async function markInUse(folder: string): Promise<void> {
  const now = new Date()
  await utimes(folder, now, now)
}

/** Removes copies below `bin` that no process runs and that were not marked for a day. Returns their names. */
export async function removeUnusedCopies(bin: string): Promise<string[]> {
  const isOld = async (folder: string) => {
    const found = await stat(folder).catch(() => null)
    return found !== null && Date.now() - found.mtimeMs > FRESH_MS
  }
  const removed: string[] = []
  let running: RunningProcess[] | undefined
  for (const name of await readdir(bin).catch(() => [])) {
    const folder = path.join(fs.realpathSync(bin), name)
    if (!(await isOld(folder))) continue
    running ??= await runningProcesses()
    if (running.some(({ command }) => command.includes(`${folder}/`))) continue
    // rename first, so no server finds half a copy; a server that just got this path has marked it by now
    const aside = path.join(bin, `${DRAFT}${name}`)
    try {
      await rename(folder, aside)
    } catch {
      continue // another server does it
    }
    if (!(await isOld(aside))) await rename(aside, folder).catch(() => undefined)
    else removed.push(name)
    await rm(aside, { recursive: true, force: true })
  }
  return removed
}

/** Whether all files have their size: after a power failure some may be empty. */
function isWhole(folder: string, files: ReadonlyMap<string, number>): boolean {
  for (const [name, size] of files)
    if (fs.statSync(path.join(folder, name), { throwIfNoEntry: false })?.size !== size) return false
  return true
}

async function moveTo(folder: string, draft: string, files: ReadonlyMap<string, number>): Promise<void> {
  for (;;) {
    try {
      return await rename(draft, folder)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error
      if (isWhole(folder, files)) return // another server was first
      const broken = await mkdtemp(path.join(path.dirname(folder), DRAFT))
      await rename(folder, broken).catch(() => undefined) // another server does it
      await rm(broken, { recursive: true, force: true })
    }
  }
}
