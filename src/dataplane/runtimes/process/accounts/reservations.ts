/**
 * Which deployment has which user ids, for all installations of a machine: a file for each id in a folder of root's. The
 * file of an id whose deployment is gone stays until a look has found nothing of it (freed-id-cleanup.ts).
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../../../output/step-failure.ts'
import { processesByUser } from '../processes/proc.ts'
import { withMachineLock } from './machine-lock.ts'
import type { UidRange } from './uid-range.ts'

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
  /** Nothing of it can be left in public folders. Not so, or from an earlier version: it is looked for. */
  isPrivate?: boolean
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

/** No id of the range is free; ids that were used may be, once somebody has looked at them. */
export class NoFreeIdsError extends StepFailure {}

/**
 * The deployment's ids; its folder has to be there. `isPrivate`: its code runs with public folders of its own. Throws
 * NoFreeIds.
 */
export async function reserveIds(owner: Owner, range: UidRange, isPrivate: boolean): Promise<Ids> {
  const own = idsOf(owner, readEntries())
  if (own) {
    if (!isPrivate) await markAsShared(owner, own.code)
    return own
  }
  return withLock(async () => {
    const now = readEntries()
    const meanwhile = idsOf(owner, now)
    if (meanwhile) return meanwhile
    const running = processesByUser()
    for (const [uid, entry] of now) {
      if (!entry.isPrivate || !isGone(entry) || running.has(uid)) continue
      fs.rmSync(fileOf(uid), { force: true })
      now.delete(uid)
    }
    // an id that nobody has used needs no look
    const next = freeIds(range, (uid) => !now.has(uid) && !running.has(uid) && !isSystemUser(uid))
    // one of them may have been written before somebody was killed
    const of = (role: keyof Ids) => idOf(owner, role, now) ?? next()
    const ids: Ids = { code: of('code'), network: of('network') }
    write(ids.code, { ...owner, role: 'code', isPrivate })
    // it only reads and answers requests
    write(ids.network, { ...owner, role: 'network', isPrivate: true })
    return ids
  })
}

/** Its code may leave files in public folders from now on. */
async function markAsShared(owner: Owner, uid: number): Promise<void> {
  if (readEntry(fileOf(uid)).isPrivate)
    await withLock(async () => write(uid, { ...owner, role: 'code', isPrivate: false }))
}

/** Gives back those ids of the deployment of which nothing can be left. False: the others have to be looked at. */
export function releaseIds(owner: Owner): boolean {
  const its = [...readEntries()].filter(([, entry]) => belongsTo(entry, owner))
  for (const [uid, { isPrivate }] of its) if (isPrivate) fs.rmSync(fileOf(uid), { force: true })
  return its.every(([, { isPrivate }]) => isPrivate)
}

/** Ids whose deployment is gone, and of which something may be left. */
export function freedIds(): number[] {
  return [...readEntries()].flatMap(([uid, entry]) => (isGone(entry) && !entry.isPrivate ? [uid] : []))
}

/** Gives back those of these ids that still are nobody's: nothing of them is left. */
export function releaseFreedIds(uids: readonly number[]): Promise<void> {
  return withLock(async () => {
    const [running, used] = [processesByUser(), freedIds()]
    for (const uid of uids) if (used.includes(uid) && !running.has(uid)) fs.rmSync(fileOf(uid), { force: true })
  })
}

const withLock = <T>(work: () => Promise<T>): Promise<T> => withMachineLock(path.join(FOLDER, '.lock'), work)

/** Runs `work` while no other server of this machine looks. Rejects as `locked`. */
export const withCleanupLock = (work: () => Promise<void>, signal: AbortSignal): Promise<void> =>
  withMachineLock(path.join(FOLDER, '.look'), work, { signal })

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

const belongsTo = (entry: Entry, { dataDir, deploymentId }: Owner): boolean =>
  entry.dataDir === dataDir && entry.deploymentId === deploymentId

const isGone = ({ dataDir, folder }: Entry): boolean => !fs.existsSync(dataDir) || !fs.existsSync(folder)

function idOf(owner: Owner, role: keyof Ids, entries: Map<number, Entry>): number | undefined {
  return [...entries].find(([, entry]) => belongsTo(entry, owner) && entry.role === role)?.[0]
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
    throw new NoFreeIdsError(
      'PROVISION_FAILED',
      `No user ids between ${low} and ${high} are free for this deployment: widen APP_UID_RANGE or delete a deployment.`,
    )
  }
}

/** Whether the system knows somebody by this number. */
function isSystemUser(uid: number): boolean {
  try {
    execFileSync('id', ['--', String(uid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
