/** Small files for the server's account only, of which readers never see a part, and files that several processes append to. */
import { randomBytes } from 'node:crypto'
import fs, { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

/** Writes or replaces the file in one rename. */
export function writeAtomically(file: string, text: string): void {
  const draft = draftOf(file)
  fs.writeFileSync(draft, text, { mode: 0o600 })
  fs.renameSync(draft, file)
}

/** Returns the file's content; creates it with `make` when it is missing. Concurrent processes all get the same content. */
export function readOrCreate(file: string, make: () => string): string {
  if (!fs.existsSync(file)) {
    const draft = draftOf(file)
    fs.writeFileSync(draft, make(), { mode: 0o600, flag: 'wx' })
    try {
      fs.linkSync(draft, file) // unlike rename, link never replaces
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      fs.unlinkSync(draft)
    }
  }
  return fs.readFileSync(file, 'utf8').trim()
}

const draftOf = (file: string) => `${file}.${randomBytes(6).toString('hex')}`

/** A pipe without a reader must not block. A link could lead to a file that belongs to another account. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Creates the file when it is missing. Throws with the reason. */
export async function openToAppend(file: string): Promise<FileHandle> {
  const handle = await open(file, FLAGS, 0o640).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === 'ELOOP' ? 'is a symbolic link' : `can't be opened (${cause.code})`
    throw new Error(`the file ${reason}`, { cause })
  })
  if ((await handle.stat()).isFile()) return handle
  await handle.close()
  throw new Error('the file is not a regular file')
}
