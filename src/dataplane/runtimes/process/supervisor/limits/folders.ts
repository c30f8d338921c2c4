/**
 * What is in an agent's folders. To look through many files is dear, so it is done the less often the dearer it is; and what
 * is free on their disk is cheap to ask, which tells at once when something there has grown by much.
 */
import type fs from 'node:fs'
import { lstat, readdir, statfs } from 'node:fs/promises'
import path from 'node:path'

/** to look through them takes this share of a core at most, and is done once in this time (ms) whatever it takes */
const CPU_SHARE = 1 / 2000
const MAX_INTERVAL_MS = 600_000
/** the same while their disk fills up */
const FILLING_CPU_SHARE = 1 / 20
/** files that are looked at at once */
const MAX_CONCURRENT_STATS = 32

export interface Contents {
  /** bytes on the disk */
  bytes: number
  /** bytes of the largest file, as its reader sees it, and when it was last written (ms) */
  largest: { bytes: number; written: number }
}

export class FolderWatch {
  readonly #folders: string[]
  readonly #maxBytes: number
  readonly #maxFileBytes: number
  /** `cost`: ms of the CPU */
  #last: { contents: Contents; used: number; at: number; cost: number } | null = null
  /** bytes, as far as it is known without looking through them, and the same at the look before */
  #estimate = 0
  #previousEstimate = 0

  /** Bytes in all of them, and of one file. */
  constructor(folders: string[], maxBytes: number, maxFileBytes: number) {
    this.#folders = folders
    this.#maxBytes = maxBytes
    this.#maxFileBytes = maxFileBytes
  }

  /** As fast as it has just grown, it would be too much before many more looks. */
  get isNearLimit(): boolean {
    return (
      this.#estimate > this.#previousEstimate &&
      this.#estimate + (this.#estimate - this.#previousEstimate) * 4 > this.#maxBytes
    )
  }

  /** What is in them now, if it was worth a look; null: nothing says that it is much more than before. */
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
    // half of what is left, so that a file that is written fast is met before it is all
    const halfRest = Math.min(Math.max(0, this.#maxBytes - contents.bytes), this.#maxFileBytes) / 2
    const filling = grown > halfRest || contents.bytes > this.#maxBytes
    return since > Math.min(MAX_INTERVAL_MS, cost / (filling ? FILLING_CPU_SHARE : CPU_SHARE))
  }
}

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
      // it is not there (yet)
    }
  }
  return [...disks.values()].reduce((sum, used) => sum + used, 0)
}

/** What can't be read counts nothing; a file of several names counts once. */
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

const isBelow = (folder: string, other: string) => folder !== other && folder.startsWith(`${other}${path.sep}`)
