/** Detects at startup how builds and agents can be confined on this machine. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { CLEAN_ENV } from '../processes/process-group.ts'
import { type Confinement, isBelow, makePrivateFolders, NO_CONFINEMENT, publicFolders } from './confinement.ts'
import { launcherFor } from './launcher.ts'

interface ConfinementOptions {
  /** an account of builds and agents; null: they run as the server's account, which can't be confined */
  account: Account | null
  shared: string
  node: string
  ports: Confinement['ports']
  warn: (line: string) => void
}

/** Tries each kind of confinement. Calls `warn` with one line for each that this machine does not allow. */
export function findConfinement({ account, shared, node, ports, warn }: ConfinementOptions): Confinement {
  if (!account || process.platform !== 'linux') return NO_CONFINEMENT
  const folders = publicFolders()
  const real = [shared, node].map((folder) => fs.realpathSync(folder))
  const visible = real.filter((file) => folders.some((folder) => isBelow(file, folder)))
  const found = { ...NO_CONFINEMENT }
  if (!real.some((file) => folders.includes(file)) && works(shared, account, { folders, visible, ports: [] }))
    Object.assign(found, { folders, visible })
  else
    warn(`Deployments share ${folders.join(', ')}: this root user can't create mount namespaces (docs/operations.md)`)
  if (works(shared, account, { ...NO_CONFINEMENT, ports })) found.ports = ports
  else warn('Agents can bind any TCP port: perl, or Landlock of Linux 6.7, is missing (docs/operations.md)')
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
