/** Port: the storage for uploaded source tarballs. Implemented in `src/adapters/storage/`. */
import type { Readable } from 'node:stream'

/** Largest tarball, in bytes (docs/deployments.md#deployments). */
export const MAX_TARBALL_BYTES = 200_000_000

export interface StoredObject {
  /** bytes */
  size: number
  /** `sha256:<hex>`, or `etag:<tag>` if the storage has no more; changes with the content */
  checksum: string
}

/** Received bytes, which `stat` and `open` do not see yet. */
export interface Received extends StoredObject {
  /** Makes them the object's content. */
  keep(): Promise<void>
  discard(): Promise<void>
}

export interface TarballStorage {
  /** An absolute address for one PUT of this object, valid for so many seconds. `now`: by the database's clock. */
  uploadUrl(objectPath: string, now: Date, seconds: number): Promise<string>
  /** null: no complete upload to this path. */
  stat(objectPath: string): Promise<StoredObject | null>
  /** The object's bytes; null: there is none. Throws ObjectChangedError if its checksum is another one. */
  open(objectPath: string, checksum: string, signal?: AbortSignal): Promise<Readable | null>
  /** Receives the bytes of a PUT; if they fail, nothing is left. Absent: uploads go to another server. */
  receive?(chunks: AsyncIterable<Uint8Array>, objectPath: string): Promise<Received>
  /** Idempotent. */
  remove(objectPaths: readonly string[]): Promise<void>
}

/** The object has changed since it was accepted. */
export class ObjectChangedError extends Error {
  constructor() {
    super('The uploaded tarball is not the one that was accepted')
  }
}
