/** A DATA_DIR for a test, and settings that make its Postgres fast but not safe against a power failure. */
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'

/** An unused name. The code under test creates the folder with the right mode. */
export function newDataDir(): string {
  return path.join(os.tmpdir(), `pilothouse-test-${randomBytes(6).toString('hex')}`)
}

export const NOT_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // the kernel copies the files of a template
  file_copy_method: 'clone',
}

/** Removes a folder with its content; retries while an ending process still writes there. */
export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
