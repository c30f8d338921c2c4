/** Ends a build before it fills a disk: the engine has no bound of its own for what a build writes. */
import fs from 'node:fs'
import { Scope } from '../../platform/async/time-limit.ts'
import { StepFailure } from '../output/step-failure.ts'

/** ms between two looks */
const CHECK_INTERVAL_MS = 1000

/**
 * Runs `work` with a signal that also aborts when one of the folders' disks has less than `leastMb` left: then a
 * StepFailure is thrown once it has ended. 0: no bound.
 */
export async function withFreeDisk<T>(
  folders: string[],
  leastMb: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (leastMb === 0) return work(signal)
  const before = diskShortage(folders, leastMb)
  if (before) throw before
  const scope = new Scope(signal)
  const timer = setInterval(() => {
    const lack = diskShortage(folders, leastMb)
    if (lack) scope.abort(lack)
  }, CHECK_INTERVAL_MS)
  try {
    return await work(scope.signal)
  } finally {
    clearInterval(timer)
    scope.end()
  }
}

/** What a build would fail with now; null: there is room. 0: no bound. */
export function diskShortage(folders: string[], leastMb: number): StepFailure | null {
  const full = folders.find((folder) => freeMb(folder) < leastMb)
  if (full === undefined) return null
  return new StepFailure(
    'NO_SPACE',
    `The disk of ${full} has less than ${leastMb} MB left, which BUILD_FREE_DISK_MB keeps free: make room there.`,
  )
}

/** Of a folder that is not there: as if it were empty. */
function freeMb(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder)
    return (bavail * bsize) / 1e6
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
