/**
 * Reserves user ids for deployments, for all installations of a machine: one file per id, in a folder of root's. The file of a
 * deleted deployment's id stays until a cleanup (accounts.ts) has found no files of it.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { StepFailure } from '../../output/step-failure.ts'
import { processesByUser } from '../processes/proc.ts'
import { withMachineLock } from './machine-lock.ts'

export interface UidRange {
  low: number
  high: number
}

const FOLDER = '/var/lib/pilothouse/uids'

/** `code` runs the deployment's code. `network` runs none of it: it fetches sources, or is the door that reads clients' requests. */
export interface Ids {
  code: number
  network: number
}

const ROLES = ['code', 'network'] as const

/** The deployment, or the door, that ids belong to. When its folder is gone, the owner is gone. */
export interface Owner {
  dataDir: string
  deploymentId: string
  folder: string
}

interface Entry extends Owner {
  role: keyof Ids
  /** True: the account can't leave files in public folders. False or absent (an earlier version): they have to be searched. */
  isPrivate?: boolean
}

export function openReservations(): void {
  fs.mkdirSync(FOLDER, { recursive: true, mode: 0o755 })
  for (const folder of [path.dirname(FOLDER), FOLDER]) {
    const { uid, mode } = fs.lstatSync(folder)
    if (uid !== 0 || mode & 0o022) throw new Error(`${folder} must belong to root and be writable by nobody else`)
  }
  fs.chmodSync(FOLDER, 0o700)
}

/** Whether all processes of this uid belong to one deployment. Only a root server has such accounts. */
export const isReserved = (uid: number): boolean => fs.existsSync(fileOf(uid))

export const reservedIds = (owner: Owner): Ids | null => idsOf(owner, readEntries())

export function reservedBy(dataDir: string): Map<string, number[]> {
  const ids = new Map<string, number[]>()
  for (const [uid, entry] of readEntries())
    if (entry.dataDir === dataDir) ids.set(entry.deploymentId, [...(ids.get(entry.deploymentId) ?? []), uid])
  return ids
}

/** No id of the range is free. A cleanup of freed ids may free some. */
export class NoFreeIdsError extends StepFailure {}

/**
 * Returns the deployment's ids, reserving new ones if needed; its folder must exist. `isPrivate`: its code runs with private
 * folders. Throws NoFreeIdsError.
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
    // an id that was never used needs no cleanup
    const next = freeIds(range, (uid) => !now.has(uid) && !running.has(uid) && !isSystemUser(uid))
    // one of the two may exist already: a server was killed in between
    const existingOrNext = (role: keyof Ids) => idOf(owner, role, now) ?? next()
    const ids: Ids = { code: existingOrNext('code'), network: existingOrNext('network') }
    write(ids.code, { ...owner, role: 'code', isPrivate })
    // it leaves no files in public folders
    write(ids.network, { ...owner, role: 'network', isPrivate: true })
    return ids
  })
}

async function markAsShared(owner: Owner, uid: number): Promise<void> {
  if (readEntry(fileOf(uid)).isPrivate)
    await withLock(async () => write(uid, { ...owner, role: 'code', isPrivate: false }))
}

/** Releases the deployment's ids that need no cleanup. False: others need one. */
export function releaseIds(owner: Owner): boolean {
  const entries = [...readEntries()].filter(([, entry]) => belongsTo(entry, owner))
  for (const [uid, { isPrivate }] of entries) if (isPrivate) fs.rmSync(fileOf(uid), { force: true })
  return entries.every(([, { isPrivate }]) => isPrivate)
}

export function freedIds(): number[] {
  return [...readEntries()].flatMap(([uid, entry]) => (isGone(entry) && !entry.isPrivate ? [uid] : []))
}

/**
 * Calls `clean` with the ids that need a cleanup, while no other server of this machine cleans up. Releases all ids except those
 * that `clean` returns. Rejects like `withMachineLock`.
 */
export function cleanFreedIds(
  clean: (uids: readonly number[]) => Promise<ReadonlySet<number>>,
  signal: AbortSignal,
): Promise<void> {
  const work = async () => {
    const uids = freedIds()
    const left = uids.length > 0 ? await clean(uids) : new Set()
    await withLock(async () => {
      const [running, freed] = [processesByUser(), freedIds()]
      for (const uid of uids)
        if (!left.has(uid) && freed.includes(uid) && !running.has(uid)) fs.rmSync(fileOf(uid), { force: true })
    })
  }
  return withMachineLock(path.join(FOLDER, '.look'), work, { signal })
}

const withLock = <T>(work: () => Promise<T>): Promise<T> => withMachineLock(path.join(FOLDER, '.lock'), work)

const fileOf = (uid: number) => path.join(FOLDER, String(uid))

function readEntries(): Map<number, Entry> {
  const names = fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER) : []
  const entries = names.flatMap((name): [number, Entry][] => {
    if (!/^\d+$/.test(name)) return []
    return [[Number(name), readEntry(path.join(FOLDER, name))]]
  })
  return new Map(entries)
}

/** An unreadable entry, for example after a power failure, belongs to no deployment. */
function readEntry(file: string): Entry {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Entry
  } catch {
    return { dataDir: '', folder: '', deploymentId: '', role: 'code' }
  }
}

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

function isSystemUser(uid: number): boolean {
  try {
    execFileSync('id', ['--', String(uid)], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
