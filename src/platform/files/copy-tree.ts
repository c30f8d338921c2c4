/** Copies folders that others may be changing, as they are: owners, modes and links, and nothing that is neither file nor folder. */
import { constants } from 'node:fs'
import { chmod, copyFile, lchown, lstat, mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import path from 'node:path'

export interface CopyOptions {
  /** `name`: path below `from`, empty for itself. What it says yes to is left out, and all below it. */
  skip?: (name: string) => boolean
  /** whose the copy is, when we are root; default: whose the original is */
  owner?: { uid: number; gid: number } | null
}

/**
 * Copies a file, a link or a folder with all that is in it to `to`, which must not be there. What goes while it is copied
 * is left out. Follows no links below `from`; whoever else can write there must not be somebody to beware of.
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
