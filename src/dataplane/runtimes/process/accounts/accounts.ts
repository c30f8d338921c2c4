/**
 * The accounts that builds, agents and what stands in front of them run under. A server that is root gives each deployment
 * two of its own, so that no deployment reaches another's files, processes and memory; where that can't be, all share one.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { closeToStrangers, type Layout } from '../os/layout.ts'
import { removeAll } from '../os/remove.ts'
import type { AccountChoice } from './choice.ts'
import { endAccount } from './end.ts'
import { removeLeftBehind } from './left-behind.ts'
import { type Owner, releaseIds, reservedBy, reservedIds, reserveIds } from './reservations.ts'

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
  /** A deployment's; its folder has to be there. Throws StepFailure when there are none left. */
  of(deploymentId: string): Promise<DeploymentAccounts>
  /**
   * For a deployment that is gone: ends all that runs under accounts of its own, and removes its folders and what else these
   * accounts have left. Rejects when something can't be ended or removed. Others can get an account only when nothing of it
   * is left.
   */
  remove(deploymentId: string): Promise<void>
}

/** Also closes the folders of deployments for accounts that are not theirs (any more). */
export function createAccounts({ range, shared }: AccountChoice, dataDir: string, layout: Layout): Accounts {
  const name = shared ? nameOf(shared.uid) : os.userInfo().username
  const real = fs.realpathSync(dataDir)
  const ownerOf = (deploymentId: string): Owner => ({
    dataDir: real,
    deploymentId,
    folder: layout.app(deploymentId).root,
  })
  if (shared) {
    const reserved = reservedBy(real)
    closeToStrangers(layout, (id) => [...(reserved.get(id) ?? []), ...(range ? [] : [shared.gid])])
  }
  return {
    shared,
    async of(deploymentId) {
      if (!range) return { code: shared, network: shared, name }
      const { code, network } = await reserveIds(ownerOf(deploymentId), range)
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
      await removeAll(root, temporary)
      if (uids.length === 0) return
      const left = await removeLeftBehind(uids)
      if (!uids.some((uid) => left.has(uid))) releaseIds(owner)
    },
  }
}

/** Its group is of the same number, and nobody else is in it. */
const account = (uid: number): Account => ({ uid, gid: uid })

function nameOf(uid: number): string {
  return execFileSync('id', ['-un', '--', String(uid)], { encoding: 'utf8' }).trim()
}
