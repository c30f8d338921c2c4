/** Ends an image build before it fills a disk: the engine itself does not limit what a build writes. */
import fs from 'node:fs'
import { AbortScope } from '../../platform/async/time-limit.ts'
import { StepFailure } from '../output/step-failure.ts'

const CHECK_INTERVAL_MS = 1000

/**
 * Runs `work`. When one of the folders' disks has less than `leastMb` MB left, aborts its signal and throws StepFailure after it
 * has ended. 0: no limit.
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
  const scope = new AbortScope(signal)
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

/** The failure that a build would end with now; null: enough space. 0: no limit. */
export function diskShortage(folders: string[], leastMb: number): StepFailure | null {
  const full = folders.find((folder) => freeMb(folder) < leastMb)
  if (full === undefined) return null
  return new StepFailure(
    'NO_SPACE',
    `The disk of ${full} has less than ${leastMb} MB left, which BUILD_FREE_DISK_MB keeps free: make room there.`,
  )
}

/** A missing folder counts as an empty disk. */
function freeMb(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder)
    return (bavail * bsize) / 1e6
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
