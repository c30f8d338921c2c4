/**
 * Confines builds and agents when the server is root on Linux: private copies of public folders (mount and IPC namespaces) and
 * TCP ports that they can't bind (Landlock). See docs/operations.md.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { Account } from '../../../platform/postgres/embedded/account.ts'

export interface Confinement {
  /** absolute paths of public folders that each build and agent start gets a private one of; empty: namespaces are unavailable */
  folders: string[]
  /** absolute paths below these folders that stay visible */
  visible: string[]
  /** inclusive ranges of TCP ports that can't be bound; empty: the kernel can't forbid it */
  ports: (readonly [low: number, high: number])[]
}

export const NO_CONFINEMENT: Confinement = { folders: [], visible: [], ports: [] }

const PUBLIC = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock']

/** The public folders of this machine, symlinks resolved, without folders below others. */
export function publicFolders(): string[] {
  const real = [...PUBLIC, os.tmpdir()].flatMap((folder) => (fs.existsSync(folder) ? [fs.realpathSync(folder)] : []))
  return [...new Set(real)].filter((folder) => !real.some((other) => isBelow(folder, other)))
}

export const isBelow = (file: string, folder: string): boolean => file.startsWith(`${folder}${path.sep}`)

export const isPortClosed = (port: number, { ports }: Confinement): boolean =>
  ports.some(([low, high]) => port >= low && port <= high)

export const privateFolder = (folder: string, publicFolder: string): string =>
  path.join(folder, publicFolder === '/tmp' ? 'tmp' : publicFolder.slice(1).replaceAll('/', '-'))

/** Creates the private folders of a build or start in `folder`, which must be empty and closed to other accounts. */
export function makePrivateFolders(folder: string, account: Account, { folders, visible }: Confinement): void {
  for (const publicFolder of folders) {
    const own = privateFolder(folder, publicFolder)
    fs.mkdirSync(own)
    for (const file of visible) if (isBelow(file, publicFolder)) makePassable(own, path.relative(publicFolder, file))
    fs.chownSync(own, account.uid, account.gid)
    fs.chmodSync(own, 0o1777)
  }
}

function makePassable(above: string, folder: string): void {
  let at = above
  for (const name of folder.split(path.sep)) {
    at = path.join(at, name)
    fs.mkdirSync(at, { recursive: true })
    fs.chmodSync(at, 0o711)
  }
}
