/**
 * Which accounts there are for code from repositories: decided once, when the server starts.
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../../platform/postgres/embedded/account.ts'
import { openReservations } from './reservations.ts'
import { findUidRange, type UidRange, type UidRangeSetting } from './uid-range.ts'

export interface AccountChoice {
  /** of which each deployment gets accounts of its own; null: all share one */
  range: UidRange | null
  /** that one; null: our own */
  shared: Account | null
  /** stands for all of them where it is asked what they can reach; null: our own */
  typical: Account | null
}

interface AccountOptions {
  dataDir: string
  appUser?: string | undefined
  uidRange?: UidRangeSetting
  warn?: ((line: string) => void) | undefined
}

/** Throws for an account, or a range, that is named and not there. */
export function chooseAccounts({ dataDir, appUser, uidRange: setting, warn: note }: AccountOptions): AccountChoice {
  const shared = appAccount(appUser)
  const found = findUidRange(setting)
  if (!found || !shared) return { range: null, shared, typical: shared }
  const without = 'without' in found ? found.without : obstacle(found.range, shared, dataDir)
  if ('range' in found && !without) {
    const { range } = found
    return { range, shared, typical: { uid: range.low, gid: range.low } }
  }
  note?.(
    `All deployments share one account (uid ${shared.uid}), and so can read each other’s files and memory: ${without}`,
  )
  return { range: null, shared, typical: shared }
}

/** What keeps accounts of this range from being used here. */
function obstacle({ low }: UidRange, shared: Account, dataDir: string): string | null {
  try {
    openReservations()
  } catch (error) {
    return `there is no place to reserve accounts in: ${(error as Error).message}`
  }
  const apps = path.join(dataDir, 'apps')
  // an earlier version has put them where only the shared account can get at them
  if (fs.existsSync(apps) && canReach(shared, apps) && !canReach({ uid: low, gid: low }, apps))
    return `other accounts can't reach ${apps}: chmod o+x the folders above it`
  return null
}

/** Every Linux and macOS has it; nothing should belong to it. Postgres runs under another one. */
const UNPRIVILEGED = 'nobody'

/**
 * The account that builds and agents run under: a server that runs as root gives its rights up for them, since their code
 * comes from a repository and must not reach the server's files and processes. Null when the server is not root and so
 * can't. Throws when there is no such account.
 */
export function appAccount(name: string = UNPRIVILEGED): Account | null {
  if (process.getuid?.() !== 0) return null
  const account = { uid: idOf(name, '-u'), gid: idOf(name, '-g') }
  if (account.uid === 0) throw new Error(`APP_USER ${name} is root: builds and agents need an unprivileged account`)
  return account
}

function idOf(name: string, option: '-u' | '-g'): number {
  try {
    // a builder's PATH may have nothing but its engine
    const env = { PATH: '/usr/bin:/bin' }
    return Number(execFileSync('id', [option, '--', name], { stdio: ['ignore', 'pipe', 'ignore'], env }))
  } catch {
    throw new Error(`The account ${name} does not exist on this machine: name one for builds and agents in APP_USER`)
  }
}
