/**
 * Removes files that deleted deployments left in public folders, so their ids can be reused. Ids whose code had private folders
 * need no cleanup. A cleanup walks all public files, so one runs at a time, at idle priority.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { promisify } from 'node:util'
import { createSingleflight } from '../../../platform/async/batcher.ts'
import { publicFolders } from './confinement.ts'
import { freedIds, releaseFreedIds, withCleanupLock } from './reservations.ts'

const exec = promisify(execFile)

const RETRY_MS = 600_000

const IDLE = 'ionice -c 3 -p $$ 2>/dev/null; exec nice -n 19 "$@"'

/** System V object kind → option of ipcrm; the kind is also the prefix of the id column in /proc/sysvipc */
const IPCRM_OPTIONS = { shm: '-m', msg: '-q', sem: '-s' }

export class FreedIdCleanup {
  readonly #closing = new AbortController()
  readonly #runs = createSingleflight()
  #retry: NodeJS.Timeout | undefined

  /** Resolves after all ids that are freed now were cleaned. Never rejects. */
  run(): Promise<void> {
    return this.#runs('', async () => {
      await this.#clean().catch(() => undefined)
      clearTimeout(this.#retry)
      if (this.#closing.signal.aborted || freedIds().length === 0) return
      this.#retry = setTimeout(() => void this.run(), RETRY_MS)
      this.#retry.unref()
    })
  }

  close(): void {
    clearTimeout(this.#retry)
    this.#closing.abort()
  }

  async #clean(): Promise<void> {
    const { signal } = this.#closing
    if (signal.aborted || freedIds().length === 0) return
    await withCleanupLock(async () => {
      const uids = freedIds()
      const left = await removeFilesOf(uids, signal)
      await releaseFreedIds(uids.filter((uid) => !left.has(uid)))
    }, signal)
  }
}

/** Removes files and System V objects of these ids. Returns the ids that still have some. */
async function removeFilesOf(uids: readonly number[], signal: AbortSignal): Promise<Set<number>> {
  if (uids.length === 0) return new Set()
  for (const { kind, id, uid } of systemVObjects())
    if (uids.includes(uid)) await exec('ipcrm', [IPCRM_OPTIONS[kind], id]).catch(() => undefined)
  const theirs = uids.flatMap((uid) => ['-o', '-uid', String(uid)])
  const stays = await find(['-depth', '(', '-false', ...theirs, ')', '!', '-delete', '-printf', '%U\\n'], signal)
  return new Set([...stays.split('\n').filter(Boolean).map(Number), ...systemVObjects().map(({ uid }) => uid)])
}

/** `-xdev`: mounts below are public folders themselves, or not writable for these ids. */
async function find(expression: string[], signal: AbortSignal): Promise<string> {
  const command = ['find', '-P', ...publicFolders(), '-xdev', ...expression]
  try {
    const { stdout } = await exec('/bin/sh', ['-c', IDLE, 'sh', ...command], { signal, maxBuffer: 256 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const { code, stdout } = error as { code?: number | string; stdout?: string }
    // 1: a file was removed during the walk
    if (code === 1) return stdout ?? ''
    throw error
  }
}

function systemVObjects(): { kind: keyof typeof IPCRM_OPTIONS; id: string; uid: number }[] {
  return (Object.keys(IPCRM_OPTIONS) as (keyof typeof IPCRM_OPTIONS)[]).flatMap((kind) => {
    const file = `/proc/sysvipc/${kind}`
    const [head = '', ...lines] = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
    const columns = head.trim().split(/\s+/)
    const at = (name: string) => columns.indexOf(name)
    return lines.map((line) => {
      const values = line.trim().split(/\s+/)
      return { kind, id: values[at(`${kind}id`)] ?? '', uid: Number(values[at('cuid')]) }
    })
  })
}
