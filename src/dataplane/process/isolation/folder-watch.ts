/**
 * Measures an agent's folders. Listing files is expensive, so a costly measurement is repeated less often. Between
 * measurements, the free space of the disk reveals fast growth.
 */
import type fs from 'node:fs'
import { lstat, readdir, statfs } from 'node:fs/promises'
import path from 'node:path'
import { isBelow } from './confinement.ts'

/** Measurements use at most this share of a core. One is due after the longest interval even if it costs more. */
const CPU_SHARE = 1 / 2000
const MAX_INTERVAL_MS = 600_000
/** the same while the disk fills up */
const FILLING_CPU_SHARE = 1 / 20
const MAX_CONCURRENT_STATS = 32

export interface Contents {
  bytes: number
  /** size of the largest file in bytes, as readers see it; `written`: its last change, ms since 1970 */
  largest: { bytes: number; written: number }
}

export class FolderWatch {
  readonly #folders: string[]
  readonly #maxBytes: number
  readonly #maxFileBytes: number
  /** `cost`: CPU time in ms */
  #last: { contents: Contents; used: number; at: number; cost: number } | null = null
  /** bytes, estimated from the free space between measurements */
  #estimate = 0
  #previousEstimate = 0

  /** Limits in bytes: of all folders together, and of one file. */
  constructor(folders: string[], maxBytes: number, maxFileBytes: number) {
    this.#folders = folders
    this.#maxBytes = maxBytes
    this.#maxFileBytes = maxFileBytes
  }

  get isNearLimit(): boolean {
    return isNearLimit(this.#estimate, this.#previousEstimate, this.#maxBytes)
  }

  /** Returns the contents if a measurement is due; null: nothing indicates that they have grown much. */
  async measure(): Promise<Contents | null> {
    this.#previousEstimate = this.#estimate
    const used = await usedBytes(this.#folders)
    if (!this.#isDue(used)) return null
    const before = process.cpuUsage()
    const contents = await contentsOf(this.#folders)
    const { user, system } = process.cpuUsage(before)
    this.#last = { contents, used, at: performance.now(), cost: (user + system) / 1000 }
    this.#estimate = contents.bytes
    return contents
  }

  #isDue(used: number): boolean {
    if (!this.#last) return true
    const { contents, cost } = this.#last
    const since = performance.now() - this.#last.at
    const grown = Math.max(0, used - this.#last.used)
    this.#estimate = contents.bytes + grown
    // half of the remaining space, so that a fast writer is noticed before it has used all
    const halfRest = Math.min(Math.max(0, this.#maxBytes - contents.bytes), this.#maxFileBytes) / 2
    const filling = grown > halfRest || contents.bytes > this.#maxBytes
    return since > Math.min(MAX_INTERVAL_MS, cost / (filling ? FILLING_CPU_SHARE : CPU_SHARE))
  }
}

/** At the last growth rate the limit is reached within four more measurements. */
export const isNearLimit = (now: number, before: number, max: number): boolean =>
  now > before && now + (now - before) * 4 > max

/** Bytes in use on the disks of these folders. */
async function usedBytes(folders: string[]): Promise<number> {
  const disks = new Map<number, number>()
  for (const folder of folders) {
    try {
      const { dev } = await lstat(folder)
      if (disks.has(dev)) continue
      const { blocks, bfree, bsize } = await statfs(folder)
      disks.set(dev, (blocks - bfree) * bsize)
    } catch {
      // the folder does not exist (yet)
    }
  }
  return [...disks.values()].reduce((sum, used) => sum + used, 0)
}

/** Unreadable files count as 0. A file with several names counts once. */
async function contentsOf(folders: string[]): Promise<Contents> {
  const contents: Contents = { bytes: 0, largest: { bytes: 0, written: 0 } }
  const seen = new Set<string>()
  const rest = [...new Set(folders)].filter((folder) => !folders.some((other) => isBelow(folder, other)))
  const count = async (file: string) => {
    const stat = await lstat(file).catch(() => null)
    if (!stat) return
    if (stat.nlink > 1 && !stat.isDirectory()) {
      const id = `${stat.dev} ${stat.ino}`
      if (seen.has(id)) return
      seen.add(id)
    }
    contents.bytes += stat.blocks * 512
    if (stat.isFile() && stat.size > contents.largest.bytes)
      contents.largest = { bytes: stat.size, written: stat.mtimeMs }
  }
  for (let folder = rest.pop(); folder !== undefined; folder = rest.pop()) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [] as fs.Dirent[])
    for (let i = 0; i < entries.length; i += MAX_CONCURRENT_STATS)
      await Promise.all(entries.slice(i, i + MAX_CONCURRENT_STATS).map(({ name }) => count(path.join(folder, name))))
    for (const entry of entries) if (entry.isDirectory()) rest.push(path.join(folder, entry.name))
  }
  return contents
}
