/**
 * Whose processes the embedded Postgres runs as. It refuses to run as root, so a server that is root lends it an
 * account of the system, and a place that this account can reach.
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

/** Never `nobody`: agents run under that, and whoever shares Postgres's account can read its files. */
const CANDIDATES = ['postgres', 'daemon']

/** An account that nobody has: what it can reach, all can. */
const NO_ACCOUNT: Account = { uid: -1, gid: -1 }

/** Where the cluster of `dataDir` is or goes to, and whose it is. Account null: our own will do. */
export function placeCluster(dataDir: string): { data: string; account: Account | null } {
  const inPlace = path.join(dataDir, 'postgres')
  if (process.getuid?.() !== 0) return { data: inPlace, account: null }
  // a cluster that is there already keeps its owner: Postgres starts under no other account
  const owner = ownerOf(inPlace)
  if (owner) return { data: inPlace, account: owner }
  const account = systemAccount()
  const data = canReach(account, dataDir) ? inPlace : path.join(reachableFolderFor(dataDir), 'postgres')
  return { data, account: ownerOf(data) ?? account }
}

/** Where copies of programs go that outlive a checkout: where every account can run them, if we are root. */
export function placePrograms(dataDir: string): string {
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const open = process.getuid?.() !== 0 || canReach(NO_ACCOUNT, dataDir)
  return path.join(open ? dataDir : reachableFolderFor(dataDir), 'bin')
}

/** Null: there is nothing, or it is root's. */
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

/** Can `account` get to what is in `folder`? Each folder on the way down has to let it through. */
export function canReach(account: Account, folder: string): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    const { uid, gid, mode } = fs.statSync(at)
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if (!(mode & bit)) return false
    if (at === path.dirname(at)) return true
  }
}

/**
 * A folder that every account can reach, standing in for `original`, which it can't (below /root, say). Root
 * owns it. In a temporary folder somebody else might have made it first, so that is checked.
 */
export function reachableFolderFor(original: string): string {
  const name = `pilothouse-${createHash('sha256').update(original).digest('hex').slice(0, 16)}`
  for (const parent of ['/var/lib', os.tmpdir()]) {
    const folder = path.join(parent, name)
    try {
      fs.mkdirSync(folder, { recursive: true })
    } catch {
      continue // read-only, or missing
    }
    const { uid, mode } = fs.lstatSync(folder)
    if (uid !== 0 || mode & 0o022) throw new Error(`${folder} must belong to root and be writable by nobody else.`)
    fs.chmodSync(folder, 0o755)
    return folder
  }
  throw new Error(`Postgres's account can't reach ${original}, and neither /var/lib nor ${os.tmpdir()} is writable.`)
}
