/** Describes a program that is a folder of files, as installed by npm. */
import fs from 'node:fs'
import path from 'node:path'
import type { Program } from './programs.ts'

/** `identity`: name and version. `links`: symbolic links to add, path below the folder → path below the folder. */
export function folderProgram(from: string, identity: string, links: ReadonlyMap<string, string> = new Map()): Program {
  const found = fs.readdirSync(from, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const names = found.map(({ parentPath, name }) => path.relative(from, path.join(parentPath, name)))
  const files = names.flatMap((name) => {
    // some installers turn the links into files
    if (links.has(name)) return []
    const { size, mode } = fs.statSync(path.join(from, name))
    return [{ name, size, executable: (mode & 0o100) !== 0 }]
  })
  return {
    identity,
    files: new Map(files.map(({ name, size }) => [name, size])),
    // synchronous: asynchronous copies of a thousand small files are many times slower
    async write(to) {
      for (const { name, executable } of files) {
        ensureFolders(to, path.dirname(name))
        const copy = path.join(to, name)
        // shares blocks with the original if the file system supports it
        fs.copyFileSync(path.join(from, name), copy, fs.constants.COPYFILE_FICLONE)
        fs.chmodSync(copy, executable ? 0o755 : 0o644)
      }
      for (const [link, target] of links) {
        ensureFolders(to, path.dirname(link))
        fs.symlinkSync(path.relative(path.dirname(link), target), path.join(to, link))
      }
    },
  }
}

/** Creates folders that every account can enter, regardless of our umask. */
function ensureFolders(root: string, below: string): void {
  let at = root
  for (const name of below.split(path.sep)) {
    at = path.join(at, name)
    if (fs.existsSync(at)) continue
    fs.mkdirSync(at)
    fs.chmodSync(at, 0o755)
  }
}
