/**
 * Stores uploaded tarballs in a local folder. Each object has a checksum file, written last: an object without one is
 * incomplete. Clients upload to our server, by a URL signed with the key ring.
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { KeyRing } from '../../domain/crypto/keyring.ts'
import { DomainError } from '../../domain/errors/errors.ts'
import { ObjectChangedError, type StoredObject, type TarballStorage } from '../../domain/ports/tarball-storage.ts'
import { signUpload } from '../../domain/sources/uploads.ts'

export interface FolderOptions {
  folder: string
  keyring: KeyRing
  publicUrl: () => string
}

export function createFolderStorage({ folder, keyring, publicUrl }: FolderOptions): TarballStorage {
  const fileOf = (objectPath: string) => {
    // a part with a leading dot could leave the folder or name an unfinished upload
    if (!objectPath.split('/').every((part) => /^[\w-][\w.-]*$/.test(part))) throw new Error('no path of an object')
    return path.join(folder, objectPath)
  }
  return {
    async uploadUrl(objectPath, now, seconds) {
      fileOf(objectPath)
      const expires = Math.floor(now.getTime() / 1000) + seconds
      const signature = signUpload(keyring, objectPath, expires)
      return `${publicUrl()}/v1/uploads/${objectPath}?expires=${expires}&signature=${signature}`
    },
    stat: async (objectPath) => readSum(fileOf(objectPath)),
    async open(objectPath, checksum, signal) {
      const file = fileOf(objectPath)
      const stored = await readSum(file)
      if (!stored) return null
      if (stored.checksum !== checksum) throw new ObjectChangedError()
      const handle = await orNull(open(file))
      return handle ? handle.createReadStream({ signal }) : null
    },
    async receive(chunks, objectPath) {
      const file = fileOf(objectPath)
      const { temporary, ...arrived } = await receiveFile(path.join(folder, '.incoming'), chunks)
      return {
        ...arrived,
        keep: () => put(temporary, file, arrived),
        discard: () => rm(temporary, { force: true }),
      }
    },
    async remove(objectPaths) {
      for (const file of objectPaths.map(fileOf)) {
        await rm(sumOf(file), { force: true })
        await rm(file, { force: true })
        // succeeds only when it is empty
        await rmdir(path.dirname(file)).catch(() => {})
      }
    },
  }
}

const sumOf = (file: string) => `${file}.sum`

/** The checksum file is removed first and written last, because an object without it does not exist. */
async function put(temporary: string, file: string, { size, checksum }: StoredObject): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await rm(sumOf(file), { force: true })
  await rename(temporary, file)
  const sum = `${sumOf(file)}.${randomUUID()}`
  await writeFile(sum, JSON.stringify({ size, checksum }), { mode: 0o600 })
  await rename(sum, sumOf(file))
}

async function readSum(file: string): Promise<StoredObject | null> {
  const text = await orNull(readFile(sumOf(file), 'utf8'))
  return text === null ? null : (JSON.parse(text) as StoredObject)
}

/** Null when the file is missing. */
function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** file age after which its server must have died; an upload takes less time (rest/v1/uploads.ts) */
const ABANDONED_AFTER_MS = 2 * 60 * 60 * 1000

/** Rejects with the error of `chunks`, or with UNAVAILABLE when the disk is full. Then the file is removed. */
async function receiveFile(
  folder: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<StoredObject & { temporary: string }> {
  const temporary = path.join(folder, randomUUID())
  try {
    // other accounts may pass through DATA_DIR, but not read this folder
    await mkdir(path.dirname(path.dirname(folder)), { recursive: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await tidy(folder)
    const file = await open(temporary, 'wx', 0o600)
    const hash = createHash('sha256')
    let size = 0
    try {
      for await (const chunk of chunks) {
        hash.update(chunk)
        await file.writeFile(chunk)
        size += chunk.length
      }
      await file.sync()
    } finally {
      await file.close()
    }
    return { temporary, size, checksum: `sha256:${hash.digest('hex')}` }
  } catch (cause) {
    await rm(temporary, { force: true })
    const { code } = cause as NodeJS.ErrnoException
    if (code !== 'ENOSPC' && code !== 'EDQUOT') throw cause
    throw new DomainError('UNAVAILABLE', 'There is no space left in DATA_DIR for uploads.', { cause })
  }
}

async function tidy(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name)
    const found = await stat(file).catch(() => null)
    if (found && found.mtimeMs < Date.now() - ABANDONED_AFTER_MS) await rm(file, { force: true })
  }
}
