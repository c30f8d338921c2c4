/**
 * Which deployment has which user ids, for all installations of a machine: a file for each id in a folder of root's. An id
 * whose deployment is gone is another's only when nothing is left of it.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../../../output/failure.ts'
import { processesByUser } from '../os/proc.ts'
import { idsLeftBehind } from './left-behind.ts'
import { locked } from './machine-lock.ts'
import type { UidRange } from './range.ts'

const FOLDER = '/var/lib/pilothouse/uids'

/** `code` runs what the deployment brings; `network` reads what its clients send. */
export interface Ids {
  code: number
  network: number
}

const ROLES = ['code', 'network'] as const

/** Whose ids they are. Without its folder there is no such deployment any more. */
export interface Owner {
  /** absolute, as all servers of it know it */
  dataDir: string
  deploymentId: string
  /** absolute: what the deployment has on this machine */
  folder: string
}

interface Entry extends Owner {
  role: keyof Ids
}

/** Throws when there can be no such folder. */
export function openReservations(): void {
  fs.mkdirSync(FOLDER, { recursive: true, mode: 0o755 })
  for (const folder of [path.dirname(FOLDER), FOLDER]) {
    const { uid, mode } = fs.lstatSync(folder)
    if (uid !== 0 || mode & 0o022) throw new Error(`${folder} must belong to root and be writable by nobody else`)
  }
  fs.chmodSync(FOLDER, 0o700)
}

/** Whether all that runs as this user is one deployment's, or its network's. Only root has such accounts. */
export const isReserved = (uid: number): boolean => fs.existsSync(fileOf(uid))

/** Null: it has none. */
export const reservedIds = (owner: Owner): Ids | null => idsOf(owner, readEntries())

/** The ids of all deployments of this DATA_DIR, by the id of the deployment. */
export function reservedBy(dataDir: string): Map<string, number[]> {
  const ids = new Map<string, number[]>()
  for (const [uid, entry] of readEntries())
    if (entry.dataDir === dataDir) ids.set(entry.deploymentId, [...(ids.get(entry.deploymentId) ?? []), uid])
  return ids
}

/** The deployment's ids; its folder has to be there. Throws StepFailure when none are left. */
export async function reserveIds(owner: Owner, range: UidRange): Promise<Ids> {
  const before = readEntries()
  const own = idsOf(owner, before)
  if (own) return own
  // who has none of them here can have left nothing after this look, either
  const gone = [...before].flatMap(([uid, entry]) => (isGone(entry) ? [uid] : []))
  const left = await idsLeftBehind(range, gone)
  return locked(path.join(FOLDER, '.lock'), async () => {
    const now = readEntries()
    const meanwhile = idsOf(owner, now)
    if (meanwhile) return meanwhile
    const running = processesByUser()
    const isFree = (uid: number) => {
      const entry = now.get(uid)
      return (
        !left.has(uid) &&
        !running.has(uid) &&
        (!entry || (isGone(entry) && gone.includes(uid) && isSame(entry, before.get(uid))))
      )
    }
    // its deployment may give it back right now, which needs no lock
    for (const uid of now.keys()) if (isFree(uid)) fs.rmSync(fileOf(uid), { force: true })
    const next = freeIds(range, (uid) => isFree(uid) && !isSomebodys(uid))
    // one of them may have been written before somebody was killed
    const of = (role: keyof Ids) => idOf(owner, role, now) ?? next()
    const ids: Ids = { code: of('code'), network: of('network') }
    for (const role of ROLES) write(ids[role], { ...owner, role })
    return ids
  })
}

/** Gives the deployment's ids back. Nothing of them may be left. */
export function releaseIds(owner: Owner): void {
  for (const [uid, entry] of readEntries()) if (isOf(entry, owner)) fs.rmSync(fileOf(uid), { force: true })
}

const fileOf = (uid: number) => path.join(FOLDER, String(uid))

function readEntries(): Map<number, Entry> {
  const names = fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER) : []
  const entries = names.flatMap((name): [number, Entry][] => {
    if (!/^\d+$/.test(name)) return []
    return [[Number(name), readEntry(path.join(FOLDER, name))]]
  })
  return new Map(entries)
}

/** One that can't be read, after a power failure say, is nobody's. */
function readEntry(file: string): Entry {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Entry
  } catch {
    return { dataDir: '', folder: '', deploymentId: '', role: 'code' }
  }
}

/** Appears as a whole, or not at all. */
function write(uid: number, entry: Entry): void {
  const draft = path.join(FOLDER, '.draft')
  const file = fs.openSync(draft, 'w', 0o600)
  fs.writeFileSync(file, JSON.stringify(entry))
  fs.fsyncSync(file)
  fs.closeSync(file)
  fs.renameSync(draft, fileOf(uid))
}

const isOf = (entry: Entry, { dataDir, deploymentId }: Owner): boolean =>
  entry.dataDir === dataDir && entry.deploymentId === deploymentId

const isSame = (entry: Entry, other: Entry | undefined): boolean =>
  other !== undefined && isOf(entry, other) && entry.role === other.role

const isGone = ({ dataDir, folder }: Entry): boolean => !fs.existsSync(dataDir) || !fs.existsSync(folder)

function idOf(owner: Owner, role: keyof Ids, entries: Map<number, Entry>): number | undefined {
  return [...entries].find(([, entry]) => isOf(entry, owner) && entry.role === role)?.[0]
}

function idsOf(owner: Owner, entries: Map<number, Entry>): Ids | null {
  const [code, network] = ROLES.map((role) => idOf(owner, role, entries))
  return code === undefined || network === undefined ? null : { code, network }
}

/** Gives one after the other. */
function freeIds({ low, high }: UidRange, isFree: (uid: number) => boolean): () => number {
  let at = low
  return () => {
    while (at <= high) if (isFree(at++)) return at - 1
    throw new StepFailure(
      'PROVISION_FAILED',
      `No user ids between ${low} and ${high} are free for this deployment: widen APP_UID_RANGE or delete a deployment.`,
    )
  }
}

/** Whether the system knows somebody by this number. */
function isSomebodys(uid: number): boolean {
  try {
    execFileSync('id', ['--', String(uid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
