/** Writes an upload to a temporary file, and returns its size and checksum. */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { DomainError } from '../../domain/errors/errors.ts'
import type { StoredObject } from '../../domain/ports/tarball-storage.ts'

/** file age after which its server must have died; an upload takes less time (rest/v1/uploads.ts) */
const ABANDONED_AFTER_MS = 2 * 60 * 60 * 1000

/** Rejects with the error of `chunks`, or with UNAVAILABLE when the disk is full. Then the file is removed. */
export async function receiveFile(
  folder: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<StoredObject & { temporary: string }> {
  try {
    return await receive(folder, chunks)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
    throw new DomainError('UNAVAILABLE', 'There is no space left in DATA_DIR for uploads.', { cause })
  }
}

async function receive(
  folder: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<StoredObject & { temporary: string }> {
  // other accounts may pass through DATA_DIR, but not read this folder
  await mkdir(path.dirname(path.dirname(folder)), { recursive: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await tidy(folder)
  const temporary = path.join(folder, randomUUID())
  const file = await open(temporary, 'wx', 0o600)
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const chunk of chunks) {
      hash.update(chunk)
      await file.writeFile(chunk)
      size += chunk.length
    }
    await file.sync()
    return { temporary, size, checksum: `sha256:${hash.digest('hex')}` }
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  } finally {
    await file.close()
  }
}

async function tidy(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < Date.now() - ABANDONED_AFTER_MS) await rm(file, { force: true })
  }
}
