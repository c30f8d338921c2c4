/** A program that is a folder of files, as npm installed it. */
import fs from 'node:fs'
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import type { Program } from './programs.ts'

/** `identity`: name and version. `links`: symbolic links to add, path below the folder → path below the folder. */
export function folderProgram(from: string, identity: string, links: ReadonlyMap<string, string> = new Map()): Program {
  const found = fs.readdirSync(from, { recursive: true, withFileTypes: true })
  const files = found.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name))
  const sizes = new Map(files.map((file) => [path.relative(from, file), fs.statSync(file).size]))
  return {
    identity,
    files: sizes,
    async write(to) {
      for (const name of sizes.keys()) {
        const [source, copy] = [path.join(from, name), path.join(to, name)]
        await ensureFolders(to, path.dirname(name))
        // shares its blocks with the original where the file system can do that
        await copyFile(source, copy, fs.constants.COPYFILE_FICLONE)
        await chmod(copy, fs.statSync(source).mode & 0o100 ? 0o755 : 0o644)
      }
      for (const [link, target] of links) {
        await ensureFolders(to, path.dirname(link))
        await symlink(path.relative(path.dirname(link), target), path.join(to, link))
      }
    },
  }
}

/** For every account to enter, whatever our umask is. */
async function ensureFolders(root: string, below: string): Promise<void> {
  let at = root
  for (const name of below.split(path.sep)) {
    at = path.join(at, name)
    if (fs.existsSync(at)) continue
    await mkdir(at)
    await chmod(at, 0o755)
  }
}
