/**
 * Removes folders that strangers' code has written to. `rm` walks by file descriptors: unlike a walk by
 * path it can't be led elsewhere by somebody who swaps a folder for a symlink meanwhile.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const exec = promisify(execFile)

/** Removes files and folders with everything in them. What does not exist is no error. */
export async function removeTrees(...targets: string[]): Promise<void> {
  if (targets.length > 0) await exec('rm', ['-rf', '--', ...targets])
}

/** Gives a folder with everything in it to the server's account. */
export const chownTreeToServer = (folder: string): Promise<void> =>
  chownTree(folder, { uid: process.getuid!(), gid: process.getgid!() })

/**
 * Gives a folder with everything in it to an account. Symlinks are changed themselves, never followed. `from`: only what is
 * this user's, since names of others' files can be among them.
 */
export async function chownTree(
  folder: string,
  { uid, gid }: { uid: number; gid: number },
  from?: number,
): Promise<void> {
  await exec('chown', ['-hR', ...(from === undefined ? [] : [`--from=${from}`]), `${uid}:${gid}`, '--', folder])
}
