/**
 * Looks up an API key or session with one statement and caches the result for seconds. A revocation takes effect immediately
 * on its server and by NOTIFY on others. After a lost NOTIFY the TTL is the longest delay.
 */

import { identifyKey } from '../../domain/keys/identity.ts'
import { identifySession } from '../../domain/sessions/identity.ts'
import type { Actor, Credential } from '../../domain/transaction/access.ts'
import type { Core, Tenant } from '../../domain/transaction/context.ts'
import { type Found, LookupCache } from './lookup-cache.ts'

/**
 * The caller and the requested workspace. `workspace` is null if none was requested or it is not in the caller's
 * organization.
 */
export interface Identity {
  actor: Actor
  credential: Credential
  workspace: Tenant | null
}

/** Credentials of one kind: API keys or sessions. */
export interface CredentialCache {
  /**
   * Null: unknown, expired or revoked. `hash`: of the key's text, or of a session's halves (`anyOfHalves`). `tenantId`: a
   * UUID, or null if no workspace was requested.
   */
  find(hash: string, tenantId: string | null): Promise<Identity | null>
  /** The cached result; null: a look-up is needed. */
  peek(hash: string, tenantId: string | null): Identity | null
  forget(id: string): void
  /** Drops everything, because revocations may have been missed. */
  forgetAll(): void
}

/** The longest time that a revoked key works elsewhere after a lost NOTIFY. */
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
