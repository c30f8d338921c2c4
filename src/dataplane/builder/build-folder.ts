/**
 * Folder of one image build: secrets, logins and temporary files, for the server's account only. Its name identifies the process,
 * so the next server finds folders of a killed one.
 */
import { createHash, randomUUID } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Account, canReach, reachableFolderFor } from '../../platform/postgres/embedded/account.ts'
import { processIdentity } from '../process/processes/proc.ts'

const shortHash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12)
/** process ids are only comparable within one container */
const machineId = () =>
  shortHash(`${os.hostname()} ${fs.existsSync('/proc/self/ns/pid') ? fs.readlinkSync('/proc/self/ns/pid') : ''}`)
const ownerId = (pid: number, started: string) => `${machineId()}.${pid}.${shortHash(started)}`

/** Creates the folder for sources. `passes`: an account that must reach files in it; null: only the server's does. */
export function createSourcesFolder(dataDir: string, passes: Account | null): string {
  if (passes) fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const root = passes && !canReach(passes, dataDir) ? reachableFolderFor(dataDir) : dataDir
  const [images, builds] = [path.join(root, 'images'), path.join(root, 'images', 'builds')]
  if (passes)
    for (const folder of [images, builds]) {
      fs.mkdirSync(folder, { recursive: true })
      fs.chmodSync(folder, 0o711)
    }
  return builds
}

export function makeBuildFolder(builds: string): string {
  const folder = path.join(builds, `${ownerId(process.pid, processIdentity(process.pid) ?? '')}.${randomUUID()}`)
  fs.mkdirSync(path.join(folder, 'tmp'), { recursive: true, mode: 0o700 })
  return folder
}

/** Folders whose process is gone; not those of other machines that share the folder. */
export function abandonedFolders(builds: string): string[] {
  return (fs.existsSync(builds) ? fs.readdirSync(builds) : [])
    .filter((name) => {
      const [machine, pid, started] = name.split('.')
      if (machine !== machineId() || !pid) return false
      const now = processIdentity(Number(pid))
      return now === null || shortHash(now) !== started
    })
    .map((name) => path.join(builds, name))
}

/** Records the engine's name for the image, for the removal of leftovers. */
export function recordImageName(folder: string, name: string): void {
  fs.writeFileSync(path.join(folder, 'image'), name, { mode: 0o600 })
}

export function recordedImageName(folder: string): string | null {
  const file = path.join(folder, 'image')
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : null
}
