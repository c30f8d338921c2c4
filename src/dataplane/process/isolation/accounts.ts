/**
 * Provides the Unix accounts of builds, agents and the door. A root server gives each deployment separate accounts, so deployments
 * can't reach each other; otherwise all share one. See README.md.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import { promisify } from 'node:util'
import { createSingleflight } from '../../../platform/async/batcher.ts'
import { unlessAborted } from '../../../platform/async/time-limit.ts'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { killAll } from '../processes/end-group.ts'
import { processesByUser, readProc } from '../processes/proc.ts'
import type { AccountChoice } from './choose-accounts.ts'
import { publicFolders } from './confinement.ts'
import { closeToOtherAccounts, type Layout } from './layout.ts'
import {
  cleanFreedIds,
  freedIds,
  NoFreeIdsError,
  type Owner,
  releaseIds,
  reservedBy,
  reservedIds,
  reserveIds,
} from './reservations.ts'
import { removeTrees } from './untrusted-trees.ts'

const exec = promisify(execFile)

const RETRY_MS = 600_000

const IDLE = 'ionice -c 3 -p $$ 2>/dev/null; exec nice -n 19 "$@"'

/** file in /proc/sysvipc → option of ipcrm */
const IPCRM_OPTIONS = { shm: '-m', msg: '-q', sem: '-s' }

const END_TIMEOUT_MS = 10_000

export interface DeploymentAccounts {
  code: Account | null
  network: Account | null
  name: string
}

export interface Accounts {
  /** for what all deployments share, and for deployments without own accounts; null: the server's account */
  shared: Account | null
  /** The deployment's accounts; its folder must exist. Throws StepFailure when no id is free. `signal` ends the wait for one. */
  forDeployment(deploymentId: string, signal?: AbortSignal): Promise<DeploymentAccounts>
  /** The account of the door, whose folder exists; null: the server's. Throws StepFailure when no id is free. */
  forDoor(folder: string): Promise<Account | null>
  /**
   * Removes a deployment: ends all processes of its accounts and removes its folders. Rejects when a process or file remains.
   * Files elsewhere are removed later; its ids are not reused before that.
   */
  remove(deploymentId: string): Promise<void>
  close(): void
}

/**
 * Also closes deployments' folders to accounts that are not theirs (any more). `isPrivate`: code runs with private folders, so it
 * leaves no files in public ones.
 */
export function createAccounts(
  { range, shared }: AccountChoice,
  dataDir: string,
  layout: Layout,
  isPrivate: boolean,
): Accounts {
  const name = shared ? userName(shared.uid) : os.userInfo().username
  const real = fs.realpathSync(dataDir)
  const ownerOf = (deploymentId: string): Owner => ({
    dataDir: real,
    deploymentId,
    folder: layout.app(deploymentId).root,
  })
  if (shared) {
    const reserved = reservedBy(real)
    closeToOtherAccounts(layout, (id) => [...(reserved.get(id) ?? []), ...(range ? [] : [shared.gid])])
  }
  const leftBehind = createCleanup()
  // clean ids that earlier servers freed or left before they were killed
  if (range) void leftBehind.run()
  return {
    shared,
    async forDeployment(deploymentId, signal = new AbortController().signal) {
      if (!range) return { code: shared, network: shared, name }
      const reserve = () => reserveIds(ownerOf(deploymentId), range, isPrivate)
      const { code, network } = await reserve().catch(async (error) => {
        if (!(error instanceof NoFreeIdsError) || freedIds().length === 0) throw error
        await unlessAborted(signal, leftBehind.run())
        return reserve()
      })
      return { code: account(code), network: account(network), name: `pilothouse-${code}` }
    },

    async forDoor(folder) {
      if (!range) return shared
      const { network } = await reserveIds({ dataDir: real, deploymentId: 'door', folder }, range, true)
      return account(network)
    },

    async remove(deploymentId) {
      const owner = ownerOf(deploymentId)
      // also without a range: the ids may be from a time when APP_UID_RANGE was on
      const ids = process.getuid?.() === 0 ? reservedIds(owner) : null
      const uids = ids ? [ids.code, ids.network] : []
      const ended = await Promise.all(uids.map((uid) => endAccount(account(uid))))
      if (!ended.every(Boolean)) throw new Error('Some processes of the deployment’s accounts can’t be ended')
      const { root, temporary } = layout.app(deploymentId)
      await removeTrees(root, temporary)
      if (uids.length > 0 && !releaseIds(owner)) void leftBehind.run()
    },

    close: () => leftBehind.close(),
  }
}

/** Each account has a group of the same number, with no other member. */
const account = (uid: number): Account => ({ uid, gid: uid })

function userName(uid: number): string {
  return execFileSync('id', ['-un', '--', String(uid)], { encoding: 'utf8' }).trim()
}

/**
 * Ends all processes of an account, in any group, session or namespace; for root on Linux. A process that forks faster than
 * /proc can be read is caught by `kill -1`, which the kernel delivers to all at the same time, except the sender. A process
 * that kills that sender is killed from here. Resolves to false when some processes survive.
 */
async function endAccount({ uid, gid }: Account): Promise<boolean> {
  return killAll(
    () => processesByUser().get(uid) ?? [],
    END_TIMEOUT_MS,
    async () => {
      const sender = spawn('/bin/sh', ['-c', 'kill -KILL -1'], { uid, gid, cwd: '/', env: {}, stdio: 'ignore' })
      await once(sender, 'exit').catch(() => undefined)
    },
  )
}

interface Cleanup {
  /** Resolves after all ids that are freed now were cleaned. Never rejects. */
  run(): Promise<void>
  close(): void
}

/**
 * Removes files that deleted deployments left in public folders, so their ids can be reused. Ids whose code had private folders
 * need no cleanup. A cleanup walks all public files, so one runs at a time, at idle priority.
 */
function createCleanup(): Cleanup {
  const closing = new AbortController()
  const { signal } = closing
  const runs = createSingleflight()
  let retry: NodeJS.Timeout | undefined
  const isDue = () => !signal.aborted && freedIds().length > 0
  const run = (): Promise<void> =>
    runs('', async () => {
      if (isDue()) await cleanFreedIds((uids) => removeFilesOf(uids, signal), signal).catch(() => undefined)
      clearTimeout(retry)
      if (isDue()) retry = setTimeout(() => void run(), RETRY_MS).unref()
    })
  return {
    run,
    close() {
      clearTimeout(retry)
      closing.abort()
    },
  }
}

/** Removes files and System V objects of these ids. Returns the ids that still have some. */
async function removeFilesOf(uids: readonly number[], signal: AbortSignal): Promise<Set<number>> {
  for (const { option, id, uid } of systemVObjects())
    if (uids.includes(uid)) await exec('ipcrm', [option, id]).catch(() => undefined)
  const theirs = uids.flatMap((uid) => ['-o', '-uid', String(uid)])
  // -xdev: mounts below are public folders themselves, or not writable for these ids
  const search = ['-xdev', '-depth', '(', '-false', ...theirs, ')', '!', '-delete', '-printf', '%U\\n']
  const command = ['-c', IDLE, 'sh', 'find', '-P', ...publicFolders(), ...search]
  const { stdout } = await exec('/bin/sh', command, { signal, maxBuffer: 256 * 1024 * 1024 }).catch((error) => {
    // 1: a file was removed during the walk
    if (error.code === 1) return error as { stdout: string }
    throw error
  })
  return new Set([...stdout.split('\n').filter(Boolean).map(Number), ...systemVObjects().map(({ uid }) => uid)])
}

function systemVObjects(): { option: string; id: string; uid: number }[] {
  return Object.entries(IPCRM_OPTIONS).flatMap(([kind, option]) => {
    const lines = readProc(`sysvipc/${kind}`).trim().split('\n')
    const [head, ...objects] = lines.map((line) => line.trim().split(/\s+/))
    // columns: key, id, …
    return objects.map((values) => ({ option, id: values[1]!, uid: Number(values[head!.indexOf('cuid')]) }))
  })
}
