/** The file of the access log. The server creates it, because the door's account may not. */
import { openToAppend } from '../../../platform/files/append.ts'
import type { DoorProgram } from './messages.ts'

/**
 * Creates the file when it is missing, also after a log rotation, and gives it to the door's account (null: the server's). Throws
 * with the reason.
 */
export async function giveToDoor(file: string, account: DoorProgram['account']): Promise<void> {
  const handle = await openToAppend(file)
  try {
    const { uid, gid, size } = await handle.stat()
    if (!account || uid === account.uid) return
    // a path by mistake must not give away another program's file
    if (size > 0) throw new Error(`the file has the owner ${uid}, not the door's account: chown ${account.uid} ${file}`)
    await handle.chown(account.uid, gid)
  } finally {
    await handle.close()
  }
}
