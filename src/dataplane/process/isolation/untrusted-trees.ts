/**
 * Removes folders that untrusted code has written to, or changes their owner. `rm` and `chown` walk by file descriptors, so
 * replacing a folder by a symlink during the walk can't redirect them. A walk by path could be redirected.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const exec = promisify(execFile)

export async function removeTrees(...targets: string[]): Promise<void> {
  if (targets.length > 0) await exec('rm', ['-rf', '--', ...targets])
}

export const chownTreeToServer = (folder: string): Promise<void> =>
  chownTree(folder, { uid: process.getuid!(), gid: process.getgid!() })

/**
 * Makes an account the owner of a folder and its contents. Changes symlinks themselves, never their targets. `from`: only files
 * of this uid, because a tree can contain hard links to other accounts' files.
 */
export async function chownTree(
  folder: string,
  { uid, gid }: { uid: number; gid: number },
  from?: number,
): Promise<void> {
  await exec('chown', ['-hR', ...(from === undefined ? [] : [`--from=${from}`]), `${uid}:${gid}`, '--', folder])
}
