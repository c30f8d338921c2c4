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
export interface CredentialCache {
  /** Null: unknown, expired or revoked. `hash`: of its text, of a session's halves (`anyOfHalves`); `tenantId`: a UUID, or null if none was named. */
  find(hash: string, tenantId: string | null): Promise<Identity | null>
  /** Who it was found to be some seconds ago; null: it has to be looked up. */
  peek(hash: string, tenantId: string | null): Identity | null
  /** The key or session is revoked. */
  forget(id: string): void
  /** Revocations may have been missed: look everything up again. */
  forgetAll(): void
}

/** ms. The bound on how long a lost NOTIFY keeps a revoked key alive. */
const CREDENTIAL_TTL_MS = 10_000
const MAX_CREDENTIALS = 1_000

export const createApiKeyCache = (core: Core): CredentialCache =>
  createCredentialCache((hash, tenantId) => lookUpKey(core, hash, tenantId))
export const createSessionCache = (core: Core): CredentialCache =>
  createCredentialCache((hash, tenantId) => lookUpSession(core, hash, tenantId))

type LookUp = (hash: string, tenantId: string | null) => Promise<Found<Identity> | null>

function createCredentialCache(lookUp: LookUp): CredentialCache {
  const cache = new LookupCache<Identity>({ ttlMs: CREDENTIAL_TTL_MS, maxEntries: MAX_CREDENTIALS })
  return {
    find: (hash, tenantId) => cache.get(cacheKey(hash, tenantId), () => lookUp(hash, tenantId)),
    peek: (hash, tenantId) => cache.peek(cacheKey(hash, tenantId)),
    forget: (id) => cache.forget(id),
    forgetAll: () => cache.clear(),
  }
}

const cacheKey = (hash: string, tenantId: string | null) => (tenantId === null ? hash : `${hash} ${tenantId}`)

async function lookUpKey(core: Core, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifyKey(core, hash, tenantId)
  if (!found) return null
  const { id, validForMs: holdsFor, actor, workspace } = found
  return { id, maxAgeMs: holdsFor, value: { actor, workspace, credential: { kind: 'key' } } }
}

async function lookUpSession(core: Core, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifySession(core, hash, tenantId)
  if (!found) return null
  const { id, keyId, validForMs: holdsFor, actor, workspace } = found
  return {
    id,
    parentId: keyId,
    maxAgeMs: holdsFor,
    value: { actor, workspace, credential: { kind: 'session', sessionId: id, keyId } },
  }
}
