/**
 * What separates builds and agents from the rest of the machine when the server is root on Linux: public folders of their
 * own, by a mount and an IPC namespace, and TCP ports that they can't bind, by Landlock. See docs/operations.md.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'

export interface Confinement {
  /** absolute: public folders that each build and each start of an agent has its own of; empty: no namespace can be made */
  folders: string[]
  /** absolute: what is below them and stays visible */
  visible: string[]
  /** inclusive ranges of TCP ports that can't be bound; empty: the kernel can't refuse them */
  ports: (readonly [low: number, high: number])[]
}

export const NO_CONFINEMENT: Confinement = { folders: [], visible: [], ports: [] }

/** Folders in which every account of a machine may write. */
const PUBLIC = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock']

/** Those that this machine has, without links, and none of them below another. */
export function publicFolders(): string[] {
  const real = [...PUBLIC, os.tmpdir()].flatMap((folder) => (fs.existsSync(folder) ? [fs.realpathSync(folder)] : []))
  return [...new Set(real)].filter((folder) => !real.some((other) => isBelow(folder, other)))
}

export const isBelow = (file: string, folder: string): boolean => file.startsWith(`${folder}${path.sep}`)

export const isPortClosed = (port: number, { ports }: Confinement): boolean =>
  ports.some(([low, high]) => port >= low && port <= high)

/** Where in `folder` the own one of a public folder is. */
export const privateFolder = (folder: string, publicFolder: string): string =>
  path.join(folder, publicFolder === '/tmp' ? 'tmp' : publicFolder.slice(1).replaceAll('/', '-'))

/** Makes the own public folders of a build or start in `folder`, which is empty, and which nobody but us can enter yet. */
export function makePrivateFolders(folder: string, account: Account, { folders, visible }: Confinement): void {
  for (const publicFolder of folders) {
    const own = privateFolder(folder, publicFolder)
    fs.mkdirSync(own)
    for (const file of visible) if (isBelow(file, publicFolder)) makePassable(own, path.relative(publicFolder, file))
    fs.chownSync(own, account.uid, account.gid)
    fs.chmodSync(own, 0o1777)
  }
}

/** Makes a folder and those above it, whatever our umask is. */
function makePassable(above: string, folder: string): void {
  let at = above
  for (const name of folder.split(path.sep)) {
    at = path.join(at, name)
    fs.mkdirSync(at, { recursive: true })
    fs.chmodSync(at, 0o711)
  }
}
