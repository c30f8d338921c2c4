/** Where uploaded source tarballs are kept, as the domain sees it. Implemented in `src/storage/`. */
import type { Readable } from 'node:stream'

/** Largest tarball, in bytes (contract 3). */
export const MAX_TARBALL_BYTES = 200_000_000

export interface StoredObject {
  /** bytes */
  size: number
  /** `sha256:<hex>`, or `etag:<tag>` where the storage computes no more: changes when the content does */
  checksum: string
}

/** Bytes that have arrived, and are not yet to be seen by `stat` and `open`. */
export interface Received extends StoredObject {
  /** Puts them in the place of the object. */
  keep(): Promise<void>
  discard(): Promise<void>
}

export interface TarballStorage {
  /** An absolute address that takes one PUT of this object until `expiresAt`. */
  uploadUrl(objectPath: string, expiresAt: Date): Promise<string>
  /** null: nothing was uploaded (whole) to this path. */
  stat(objectPath: string): Promise<StoredObject | null>
  /** The object's bytes; rejects with `ObjectChangedError` if it is not the one of this checksum, null: there is none. */
  open(objectPath: string, checksum: string, signal?: AbortSignal): Promise<Readable | null>
  /** Takes the bytes of a PUT; when they fail, nothing is left. Absent: they go to another server than ours. */
  receive?(chunks: AsyncIterable<Uint8Array>, objectPath: string): Promise<Received>
  /** Removing what is not there is a success. */
  remove(objectPaths: readonly string[]): Promise<void>
}

/** The object is another one than the one that was accepted. */
export class ObjectChangedError extends Error {
  constructor() {
    super('The uploaded tarball is not the one that was accepted')
  }
}
