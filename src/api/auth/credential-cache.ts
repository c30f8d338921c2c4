/**
 * API key or session → who calls, and for which workspace: one statement for it, workspace and plan, then nothing for
 * some seconds. A revocation is known on its server at once and on every other one as soon as the NOTIFY is there;
 * should that get lost, the cache's time is the longest that a revoked key still works elsewhere.
 */

import { identifyKey } from '../../domain/keys/identity.ts'
import { identifySession } from '../../domain/sessions/identity.ts'
import type { Actor } from '../../domain/transaction/access.ts'
import type { Core, Tenant } from '../../domain/transaction/context.ts'
import type { Credential } from '../../domain/transaction/credential.ts'
import { type Found, LookupCache } from './lookup-cache.ts'

/** Who calls, and the workspace that was asked for: null if there is none or it is not of the caller's organization. */
export interface Identity {
  actor: Actor
  credential: Credential
  workspace: Tenant | null
}

/** The credentials of one kind. */
export interface Identities {
  /** Null: unknown, expired or revoked. `hash`: of its text, of a session's halves (`anyOfHalves`); `tenantId`: a UUID, or null if none was named. */
  find(hash: string, tenantId: string | null): Promise<Identity | null>
  /** Who it was found to be some seconds ago; null: it has to be looked up. */
  known(hash: string, tenantId: string | null): Identity | null
  /** The key or session is revoked. */
  forget(id: string): void
  /** Revocations may have been missed: look everything up again. */
  forgetAll(): void
}

/** ms. The bound on how long a lost NOTIFY keeps a revoked key alive. */
const KEY_TTL = 10_000
const CACHED_KEYS = 1_000

export const createApiKeys = (core: Core): Identities => identities((hash, tenantId) => lookKey(core, hash, tenantId))
export const createSessions = (core: Core): Identities =>
  identities((hash, tenantId) => lookSession(core, hash, tenantId))

type Look = (hash: string, tenantId: string | null) => Promise<Found<Identity> | null>

function identities(look: Look): Identities {
  const cache = new LookupCache<Identity>({ ttl: KEY_TTL, size: CACHED_KEYS })
  return {
    find: (hash, tenantId) => cache.get(nameOf(hash, tenantId), () => look(hash, tenantId)),
    known: (hash, tenantId) => cache.peek(nameOf(hash, tenantId)),
    forget: (id) => cache.forget(id),
    forgetAll: () => cache.clear(),
  }
}

const nameOf = (hash: string, tenantId: string | null) => (tenantId === null ? hash : `${hash} ${tenantId}`)

async function lookKey(core: Core, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifyKey(core, hash, tenantId)
  if (!found) return null
  const { id, holdsFor, actor, workspace } = found
  return { id, holdsFor, value: { actor, workspace, credential: { kind: 'key' } } }
}

async function lookSession(core: Core, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifySession(core, hash, tenantId)
  if (!found) return null
  const { id, keyId, holdsFor, actor, workspace } = found
  return { id, of: keyId, holdsFor, value: { actor, workspace, credential: { kind: 'session', sessionId: id, keyId } } }
}
