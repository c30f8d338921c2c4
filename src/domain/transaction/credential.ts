/** The caller's credential. Streams and long polls end with it. */
import type { UnauthenticatedError } from '../errors/errors.ts'
import type { Actor } from './access.ts'

/** A session also ends with the key that created it. */
export type Credential =
  | { kind: 'key' }
  | { kind: 'jwt'; endsAt: Date }
  | { kind: 'session'; sessionId: string; keyId: string | null }

export interface Caller {
  actor: Actor
  workspace: { id: string }
  /** absent: an internal call */
  credential?: Credential
}

export interface CredentialWatch {
  /**
   * Calls back once, within 5 s, when the credential expires, is revoked or changes its rights. A database outage does
   * not count. Returns a function that stops the watch.
   */
  watch(caller: Caller, onEnded: (error: UnauthenticatedError) => void): () => void
}
