/** Opens files that several processes append whole lines to. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

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
