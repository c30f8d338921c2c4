/**
 * Copies of programs that outlive the checkout they came from: `npm ci` deletes what is under a process that runs. Each
 * is in a folder of its own, named by the hash of what it is: made in one move, so that several servers may do so at
 * once, never changed, and removed when nobody has use of it any more.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import { chmod, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import path from 'node:path'
import { type RunningProcess, runningProcesses } from './running.ts'

export interface Program {
  /** what tells it from every other: its text, or its name and version */
  identity: string
  /** its files, as paths below its folder, and their sizes in bytes */
  files: ReadonlyMap<string, number>
  /** Writes them into an empty folder, for every account to read. */
  write(folder: string): Promise<void>
}

/** Names of unfinished copies, and of broken ones that are about to be removed. */
const DRAFT = '.draft-'
/**
 * A copy that was used less long ago than this stays, in ms: whoever was told of it may be about to run it, servers
 * say all along that they have use of theirs, and the processes of another container can't be seen.
 */
const FRESH_MS = 24 * 3600_000

/** Makes a copy of the program below `bin` if there is none, and answers its folder (absolute, without symbolic links). */
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

/** Keeps a copy from being removed for a day more. */
export async function markInUse(folder: string): Promise<void> {
  const now = new Date()
  await utimes(folder, now, now)
}

/** Removes the copies below `bin` that no process runs and that nobody has used for a day; answers their names. */
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
    // out of the way first: nobody finds half of a copy, and who was told of it in this moment has said so by now
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

/** After a power failure files of a finished copy may be empty. */
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
