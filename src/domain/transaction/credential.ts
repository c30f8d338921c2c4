/** The credential of a caller. Streams and long polls end when it ends. */
import type { UnauthenticatedError } from '../errors/errors.ts'
import type { Actor } from './access.ts'

/** An API key, whose id is the actor's subject; a JWT, which ends by itself; or a session, which ends with its key, too, if it came from one. */
export type Credential =
  | { kind: 'key' }
  | { kind: 'jwt'; endsAt: Date }
  | { kind: 'session'; sessionId: string; keyId: string | null }

/** The part of a RequestContext that is watched. */
export interface Caller {
  actor: Actor
  workspace: { id: string }
  /** absent: a call of the system, which has none */
  credential?: Credential
}

export interface CredentialWatch {
  /**
   * Calls back once, within 5 s, when the caller's credential has expired, was revoked, or has other rights than it had;
   * not because the database is away. Returns what ends the watch.
   */
  watch(caller: Caller, onEnded: (error: UnauthenticatedError) => void): () => void
}
