/**
 * The accounts that builds, agents and what stands in front of them run under. A server that is root gives each deployment
 * two of its own, so that no deployment reaches another's files, processes and memory; where that can't be, all share one.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { closeToOtherAccounts, type Layout } from '../processes/layout.ts'
import { removeTrees } from '../processes/untrusted-trees.ts'
import type { AccountChoice } from './choose-accounts.ts'
import { endAccount } from './end-account.ts'
import { FreedIdCleanup } from './freed-id-cleanup.ts'
import {
  freedIds,
  NoFreeIdsError,
  type Owner,
  releaseIds,
  reservedBy,
  reservedIds,
  reserveIds,
} from './reservations.ts'

export interface DeploymentAccounts {
  /** of builds and agents; null: our own */
  code: Account | null
  /** of what reads the requests of its clients; null: our own */
  network: Account | null
  /** for USER and LOGNAME of its code */
  name: string
}

export interface Accounts {
  /** of what is made for all deployments; theirs too, unless each has its own. null: our own */
  shared: Account | null
  /** A deployment's; its folder has to be there. Throws StepFailure when there are none left; `signal` ends the wait for one. */
  forDeployment(deploymentId: string, signal?: AbortSignal): Promise<DeploymentAccounts>
  /**
   * For a deployment that is gone: ends all that runs under accounts of its own, and removes its folders. Rejects when
   * something can't be ended or removed. What these accounts may have left elsewhere is removed later; until then nobody else
   * gets them.
   */
  remove(deploymentId: string): Promise<void>
  /** Ends the removal of what accounts have left. */
  close(): void
}

/**
 * Also closes the folders of deployments for accounts that are not theirs (any more). `isPrivate`: code of deployments runs
 * with public folders of its own, and so leaves nothing there.
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
  const leftBehind = new FreedIdCleanup()
  // of deployments that are gone, and of servers that were killed before they had looked
  if (range) void leftBehind.run()
  return {
    shared,
    async forDeployment(deploymentId, signal = new AbortController().signal) {
      if (!range) return { code: shared, network: shared, name }
      const reserve = () => reserveIds(ownerOf(deploymentId), range, isPrivate)
      const { code, network } = await reserve().catch(async (error) => {
        if (!(error instanceof NoFreeIdsError) || freedIds().length === 0) throw error
        await leftBehind.runAll(signal)
        return reserve()
      })
      return { code: account(code), network: account(network), name: `pilothouse-${code}` }
    },

    async remove(deploymentId) {
      const owner = ownerOf(deploymentId)
      // they may be from a time when the range was not off
      const ids = process.getuid?.() === 0 ? reservedIds(owner) : null
      const uids = ids ? [ids.code, ids.network] : []
      const ended = await Promise.all(uids.map((uid) => endAccount(account(uid))))
      if (!ended.every(Boolean)) throw new Error('Some processes of its account can’t be ended')
      const { root, temporary } = layout.app(deploymentId)
      await removeTrees(root, temporary)
      if (uids.length > 0 && !releaseIds(owner)) void leftBehind.run()
    },

    close: () => leftBehind.close(),
  }
}

/** Its group is of the same number, and nobody else is in it. */
const account = (uid: number): Account => ({ uid, gid: uid })

function userName(uid: number): string {
  return execFileSync('id', ['-un', '--', String(uid)], { encoding: 'utf8' }).trim()
}
