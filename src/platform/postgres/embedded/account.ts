/**
 * Chooses the account and folder of the embedded Postgres. Postgres refuses to run as root, so a root server uses a system
 * account and a place which that account can reach.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

export interface Account {
  uid: number
  gid: number
}

/** Excludes the account of agents (65534), which could then read Postgres's files. */
const CANDIDATES = ['postgres', 'daemon']

/** Matches no account: what it can reach, every account can. */
const NO_ACCOUNT: Account = { uid: -1, gid: -1 }

/** Location and owner of the cluster of `dataDir`. Account null: our own. */
export function placeCluster(dataDir: string): { data: string; account: Account | null } {
  const inPlace = path.join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return { data: inPlace, account: null }
  // an existing cluster keeps its owner, because Postgres starts under no other account
  const owner = ownerOf(inPlace)
  if (owner) return { data: inPlace, account: owner }
  const account = systemAccount()
  const data = canReach(account, dataDir) ? inPlace : path.join(reachableFolderFor(dataDir), 'postgres')
  return { data, account: ownerOf(data) ?? account }
}

/** Folder for program copies; when we are root, every account can run them there. */
export function placePrograms(dataDir: string): string {
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const open = process.getuid?.() !== 0 || canReach(NO_ACCOUNT, dataDir)
  return path.join(open ? dataDir : reachableFolderFor(dataDir), 'bin')
}

/** Null when the file is missing or root owns it. */
function ownerOf(file: string): Account | null {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid } : null
}

export function systemAccount(): Account {
  for (const name of CANDIDATES) {
    try {
      const id = (what: string) => Number(execFileSync('id', [what, name], { stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {} // no such account
  }
  throw new Error(
    'Postgres does not run as root, and there is neither a `postgres` nor a `daemon` account to run it under: start the server as an ordinary user, or set DATABASE_URL.',
  )
}

/** Whether `account` can enter `folder` and all its parents. */
export function canReach(account: Account, folder: string): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    const { uid, gid, mode } = fs.statSync(at)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if (!(mode & bit)) return false
    if (at === path.dirname(at)) return true
  }
}

/**
 * A folder that every account can reach, in place of `original` (below /root, for example). Root must own it: in a
 * temporary folder another account might have created it first.
 */
export function reachableFolderFor(original: string): string {
  const name = `pilothouse-${createHash('sha256').update(original).digest('hex').slice(0, 16)}`
  for (const parent of ['/var/lib', os.tmpdir()]) {
    const folder = path.join(parent, name)
    try {
      fs.mkdirSync(folder, { recursive: true })
    } catch {
      continue // read-only or missing
    }
    const { uid, mode } = fs.lstatSync(folder)
    if (uid !== 0 || mode & 0o022) throw new Error(`${folder} must belong to root and be writable by nobody else.`)
    fs.chmodSync(folder, 0o755)
    return folder
  }
  throw new Error(`Postgres's account can't reach ${original}, and neither /var/lib nor ${os.tmpdir()} is writable.`)
}
