/**
 * Stores uploaded tarballs in a local folder. Each object has a checksum file, written last: an object without one is
 * incomplete. Clients upload to our server, by a URL signed with the key ring.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { KeyRing } from '../../domain/crypto/keyring.ts'
import { ObjectChangedError, type StoredObject, type TarballStorage } from '../../domain/ports/tarball-storage.ts'
import { signUpload } from '../../domain/sources/uploads/signature.ts'
import { receiveFile } from './receive-file.ts'

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
