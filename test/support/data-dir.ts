/** A DATA_DIR for a test, and settings with which its Postgres is fast and would not survive a power failure. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

/** A name nobody has. The folder itself is left to the code under test, which gives it the right mode. */
export function newDataDir(): string {
  return path.join(os.tmpdir(), `pilothouse-test-${randomBytes(6).toString('hex')}`)
}

export const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }

/** Removes a folder with all that is in it; what is being ended may still write there for a moment. */
export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
