/** Chooses the accounts for code from repositories, once at startup. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../platform/postgres/embedded/account.ts'
import { openReservations } from './reservations.ts'
import { findUidRange, type UidRange, type UidRangeSetting } from './uid-range.ts'

export interface AccountChoice {
  range: UidRange | null
  shared: Account | null
  /** a sample account of builds and agents, for checks of what they can reach; null: the server's */
  typical: Account | null
}

interface AccountOptions {
  dataDir: string
  appUser?: string | undefined
  uidRange?: UidRangeSetting
  warn?: ((line: string) => void) | undefined
}

export function chooseAccounts({ dataDir, appUser, uidRange: setting, warn }: AccountOptions): AccountChoice {
  const shared = appAccount(appUser)
  const found = findUidRange(setting)
  if (!found || !shared) return { range: null, shared, typical: shared }
  const without = 'without' in found ? found.without : obstacle(found.range, shared, dataDir)
  if ('range' in found && !without) {
    const { range } = found
    return { range, shared, typical: { uid: range.low, gid: range.low } }
  }
  warn?.(`All deployments share one account (uid ${shared.uid}) and can read each other’s files and memory: ${without}`)
  return { range: null, shared, typical: shared }
}

function obstacle({ low }: UidRange, shared: Account, dataDir: string): string | null {
  try {
    openReservations()
  } catch (error) {
    return `accounts can't be reserved: ${(error as Error).message}`
  }
  const apps = path.join(dataDir, 'apps')
  // an earlier version put them where only the shared account can reach them
  if (fs.existsSync(apps) && canReach(shared, apps) && !canReach({ uid: low, gid: low }, apps))
    return `other accounts can't reach ${apps}: chmod o+x the folders above it`
  return null
}

/** Exists on every Linux and macOS and should own no files. Postgres runs under a different account. */
const UNPRIVILEGED = 'nobody'

/**
 * The shared account of builds and agents. A root server runs them without its rights, because code from a repository must not
 * reach the server's files and processes. Null when the server is not root. Throws when the account does not exist.
 */
export function appAccount(name: string = UNPRIVILEGED): Account | null {
  if (process.getuid?.() !== 0) return null
  const account = { uid: idOf(name, '-u'), gid: idOf(name, '-g') }
  if (account.uid === 0) throw new Error(`APP_USER ${name} is root: builds and agents need an unprivileged account`)
  return account
}

function idOf(name: string, option: '-u' | '-g'): number {
  try {
    // a builder's PATH may contain only its engine
    const env = { PATH: '/usr/bin:/bin' }
    return Number(execFileSync('id', [option, '--', name], { stdio: ['ignore', 'pipe', 'ignore'], env }))
  } catch {
    throw new Error(
      `The account ${name} does not exist on this machine: set APP_USER to an account for builds and agents`,
    )
  }
}
