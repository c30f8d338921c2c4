/**
 * Chooses the user ids for deployments, and checks that this process can use them. The kernel's answer is in /proc/self, see
 * capabilities(7) and user_namespaces(7).
 */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'

export interface UidRange {
  low: number
  high: number
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

/**
 * The ids for deployments, or why there are none. Null: the server is not root, so there is nothing to explain. Throws when a
 * configured range does not exist.
 */
export function findUidRange(setting: UidRangeSetting): { range: UidRange } | { without: string } | null {
  if (process.getuid?.() !== 0) return null
  if (setting === 'off') return { without: 'APP_UID_RANGE is off' }
  if (process.platform !== 'linux') return { without: 'own accounts for deployments need Linux' }
  const maps = ['uid_map', 'gid_map'].map((name) => fs.readFileSync(`/proc/self/${name}`, 'utf8'))
  const isThere = (range: UidRange) => maps.every((map) => isInside(range, map))
  const named = setting && { low: setting[0], high: setting[1] }
  if (named && !isThere(named))
    throw new Error(
      `APP_UID_RANGE ${named.low}-${named.high} is not within the ids of this machine or container (/proc/self/uid_map and gid_map)`,
    )
  const range = named ?? PRESETS.find(isThere)
  if (!range) return { without: 'this container has too few user ids (/proc/self/uid_map): name some in APP_UID_RANGE' }
  const missing = missingCapabilities(fs.readFileSync('/proc/self/status', 'utf8'))
  if (missing.length > 0) return { without: `this root lacks ${missing.map((name) => `CAP_${name}`).join(', ')}` }
  const program = PROGRAMS.find((name) => !hasProgram(name))
  return program ? { without: `the program ${program} is missing` } : { range }
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

function hasProgram(name: string): boolean {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$1"', 'sh', name], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
