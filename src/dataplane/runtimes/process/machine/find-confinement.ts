/** Finds out, when the server starts, how builds and agents can be confined on this machine. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import {
  type Confinement,
  isBelow,
  makePrivateFolders,
  NO_CONFINEMENT,
  publicFolders,
} from '../processes/confinement.ts'
import { CLEAN_ENV, launcherFor } from '../processes/launcher.ts'

interface ConfinementOptions {
  /** one of the accounts of builds and agents; null: they have ours, and nothing is done */
  account: Account | null
  /** absolute: has the folders of builds and agents */
  shared: string
  /** absolute: the folder of their Node.js */
  node: string
  ports: Confinement['ports']
  note: (line: string) => void
}

/** Tries what this machine lets us do. `note` gets a line for each thing that it doesn't. */
export function findConfinement({ account: typical, shared, node, ports, note }: ConfinementOptions): Confinement {
  if (!typical || process.platform !== 'linux') return NO_CONFINEMENT
  const folders = publicFolders()
  const real = [shared, node].map((folder) => fs.realpathSync(folder))
  const visible = real.filter((file) => folders.some((folder) => isBelow(file, folder)))
  const found = { ...NO_CONFINEMENT }
  if (!real.some((file) => folders.includes(file)) && works(shared, typical, { folders, visible, ports: [] }))
    Object.assign(found, { folders, visible })
  else note(`Deployments share ${folders.join(', ')}: this root may not make mount namespaces (docs/operations.md)`)
  if (works(shared, typical, { ...NO_CONFINEMENT, ports })) found.ports = ports
  else note('Agents may bind any TCP port: perl, or Landlock with Linux 6.7, is missing (docs/operations.md)')
  return found
}

function works(place: string, account: Account, confinement: Confinement): boolean {
  const folder = fs.mkdtempSync(path.join(place, '.confinement-'))
  try {
    makePrivateFolders(folder, account, confinement)
    const { programs, asRoot } = launcherFor('build', { account, confinement, folder })
    const [program, ...args] = [...programs, '/bin/true']
    if (asRoot) execFileSync(program!, args, { stdio: 'ignore', env: CLEAN_ENV, cwd: '/' })
    return asRoot
  } catch {
    return false
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}
