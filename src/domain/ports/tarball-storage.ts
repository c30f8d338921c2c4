/**
 * Ports: storage of uploaded source tarballs, which `src/adapters/storage/` implements, and access to the source of a revision
 * for remote builders, which `app/source-access.ts` implements.
 */
import type { Readable } from 'node:stream'
import type { Explanation } from '../values/explanation.ts'

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

export interface Unavailable {
  failure: Explanation
}

export interface BuildSources {
  /**
   * Credentials for the deployment's repository; null: none are needed. Waits at most `ms` for a provider that is
   * down.
   */
  git(
    deploymentId: string,
    signal: AbortSignal,
    ms: number,
  ): Promise<{ credentials: { username: string; password: string; repoUrl?: string | undefined } | null } | Unavailable>
  /** The revision's source tarball, with the checksum that was accepted. */
  tarball(revisionId: string, signal: AbortSignal): Promise<{ bytes: Readable } | Unavailable>
}
