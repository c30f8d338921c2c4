/** Port: storage of uploaded source tarballs. `src/adapters/storage/` implements it. */
import type { Readable } from 'node:stream'

export const MAX_TARBALL_BYTES = 200_000_000

export interface StoredObject {
  size: number // bytes
  /** changes with the content: `sha256:<hex>`, or `etag:<tag>` if the storage has no hash */
  checksum: string
}

/** Received bytes. `stat` and `open` do not see them yet. */
interface Received extends StoredObject {
  /** Makes the bytes the content of the object. */
  keep(): Promise<void>
  discard(): Promise<void>
}

export interface TarballStorage {
  /** An absolute URL for one PUT of this object, valid for `seconds`. `now`: the database's time. */
  uploadUrl(objectPath: string, now: Date, seconds: number): Promise<string>
  /** Null: nothing was uploaded completely to this path. */
  stat(objectPath: string): Promise<StoredObject | null>
  /** The object's bytes. Null: no such object. Throws ObjectChangedError if the checksum differs. */
  open(objectPath: string, checksum: string, signal?: AbortSignal): Promise<Readable | null>
  /** Receives the bytes of a PUT. If that fails, nothing is stored. Absent: uploads go to another server. */
  receive?(chunks: AsyncIterable<Uint8Array>, objectPath: string): Promise<Received>
  /** Idempotent. */
  remove(objectPaths: readonly string[]): Promise<void>
}

export class ObjectChangedError extends Error {
  constructor() {
    super('The uploaded tarball is not the one that was accepted')
  }
}
