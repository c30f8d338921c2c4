/** Chooses the accounts for code from repositories, once at startup. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { type Account, canReach } from '../../../platform/postgres/embedded/account.ts'
import { findProgram } from './confinement.ts'
import { openReservations, type UidRange } from './reservations.ts'

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

export function chooseAccounts({ dataDir, appUser, uidRange, warn }: AccountOptions): AccountChoice {
  const shared = appAccount(appUser)
  if (!shared) return { range: null, shared, typical: shared }
  const range = findUidRange(uidRange)
  const without = typeof range === 'string' ? range : obstacle(range, shared, dataDir)
  if (typeof range !== 'string' && without === null)
    return { range, shared, typical: { uid: range.low, gid: range.low } }
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

/** `off`: all deployments share one account. undefined: use a preset range. */
export type UidRangeSetting = readonly [low: number, high: number] | 'off' | undefined

/**
 * Ranges that no other software assigns. The first is above the ids of directories and containers. The second, which systemd
 * leaves free, is for containers with only 65,536 ids.
 */
const PRESETS: UidRange[] = [
  { low: 2_100_000_000, high: 2_100_009_999 },
  { low: 60_578, high: 61_183 },
]

/** capability → number: those needed to start processes of other accounts, end them, and own and remove their files */
const CAPABILITIES = { CHOWN: 0, DAC_OVERRIDE: 1, FOWNER: 3, KILL: 5, SETGID: 6, SETUID: 7 }

/** needed for locks, for finding leftover files, and for dropping rights permanently */
const PROGRAMS = ['flock', 'find', 'setpriv']

/** The ids for deployments of a root server, or why there are none. Throws when a configured range does not exist. */
function findUidRange(setting: UidRangeSetting): UidRange | string {
  if (setting === 'off') return 'APP_UID_RANGE is off'
  if (process.platform !== 'linux') return 'own accounts for deployments need Linux'
  const maps = ['uid_map', 'gid_map'].map((name) => fs.readFileSync(`/proc/self/${name}`, 'utf8'))
  const isThere = (range: UidRange) => maps.every((map) => isInside(range, map))
  const named = setting && { low: setting[0], high: setting[1] }
  if (named && !isThere(named))
    throw new Error(
      `APP_UID_RANGE ${named.low}-${named.high} is not within the ids of this machine or container (/proc/self/uid_map and gid_map)`,
    )
  const range = named ?? PRESETS.find(isThere)
  if (!range) return 'this container has too few user ids (/proc/self/uid_map): name some in APP_UID_RANGE'
  const missing = missingCapabilities(fs.readFileSync('/proc/self/status', 'utf8'))
  if (missing.length > 0) return `this root lacks ${missing.map((name) => `CAP_${name}`).join(', ')}`
  const program = PROGRAMS.find((name) => !findProgram(name))
  return program ? `the program ${program} is missing` : range
}

/** `map`: lines of first id inside, first id outside, count. */
export function isInside({ low, high }: UidRange, map: string): boolean {
  const known = map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  for (let at = low; at <= high; ) {
    const line = known.find(([first = 0, , count = 0]) => at >= first && at < first + count)
    if (!line) return false
    at = line[0]! + line[2]!
  }
  return true
}

export function missingCapabilities(status: string): string[] {
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`)
  return Object.entries(CAPABILITIES).flatMap(([name, bit]) => (effective & (1n << BigInt(bit)) ? [] : [name]))
}

/**
 * Closes the folder if it is in DATA_DIR. A folder elsewhere belongs to the operator: `warn` gets a line when every account can
 * read it. `typical`: a sample account of builds and agents; null: they use the server's.
 */
export function closeRepositories(
  { dataDir, gitDirectory, warn }: { dataDir: string; gitDirectory: string; warn?: (line: string) => void },
  typical: Account | null,
): void {
  const found = fs.statSync(gitDirectory, { throwIfNoEntry: false })
  if (!typical || !found || (found.mode & 0o005) === 0) return
  if (path.dirname(path.resolve(gitDirectory)) === path.resolve(dataDir))
    fs.chmodSync(gitDirectory, found.mode & 0o7770)
  else if (canReach(typical, gitDirectory))
    warn?.(`Every account of this machine can read GIT_DIRECTORY (${gitDirectory}), agents too: chmod o-rwx closes it`)
}
