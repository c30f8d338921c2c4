/** Copies folders that may change during the copy, with owners, modes and links. Skips sockets, pipes and devices. */
import { constants } from 'node:fs'
import { chmod, copyFile, lchown, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import path from 'node:path'

export interface CopyOptions {
  /** Returns true for paths to leave out, with everything below. `name`: path below `from`; empty for `from` itself. */
  skip?: (name: string) => boolean
  /** owner of the copy when we run as root; default: the original's owner */
  owner?: { uid: number; gid: number } | null
}

/**
 * Copies a file, link or folder to `to`, which must not exist. Skips files that disappear during the copy. Follows no links
 * below `from`. Every account that can write there must be trusted.
 */
export async function copyTree(from: string, to: string, { skip, owner }: CopyOptions = {}): Promise<void> {
  await copy('')

  async function copy(name: string): Promise<void> {
    if (skip?.(name)) return
    const [source, target] = [path.join(from, name), path.join(to, name)]
    try {
      const found = await lstat(source)
      if (found.isDirectory()) {
        await mkdir(target, { mode: 0o700 })
        for (const inner of await readdir(source)) await copy(path.join(name, inner))
      } else if (found.isSymbolicLink()) await symlink(await readlink(source), target)
      else if (found.isFile()) await copyFile(source, target, constants.COPYFILE_FICLONE)
      else return
      const { uid, gid } = owner ?? found
      if (process.getuid?.() === 0) await lchown(target, uid, gid)
      if (!found.isSymbolicLink()) await chmod(target, found.mode & 0o7777)
    } catch (error) {
      if (!(await isGone(source, error))) throw error
    }
  }
}

async function isGone(file: string, error: unknown): Promise<boolean> {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return false
  return lstat(file).then(
    () => false,
    () => true,
  )
}
