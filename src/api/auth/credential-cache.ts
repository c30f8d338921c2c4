/**
 * Looks up an API key or session with one statement and caches the result for seconds. A revocation takes effect immediately
 * on its server and by NOTIFY on others. After a lost NOTIFY the TTL is the longest delay.
 */
import { identifyKey } from '../../domain/keys/identity.ts'
import { identifySession } from '../../domain/sessions/identity.ts'
import type { Actor, Credential } from '../../domain/transaction/access.ts'
import type { ReadCore, Tenant } from '../../domain/transaction/context.ts'
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

/** API keys and sessions. */
export interface CredentialCache {
  /**
   * Null: unknown, expired or revoked. `hash`: of the key's text, or of a session's halves (`anyOfHalves`). `tenantId`: a
   * UUID, or null if no workspace was requested.
   */
  find(kind: Kind, hash: string, tenantId: string | null): Promise<Identity | null>
  /** The cached result; null: a look-up is needed. */
  peek(kind: Kind, hash: string, tenantId: string | null): Identity | null
  /** Drops a key with its sessions, or a session. */
  forget(id: string): void
  /** Drops everything, because revocations may have been missed. */
  forgetAll(): void
}

type Kind = 'key' | 'session'

/** The longest time that a revoked key works elsewhere after a lost NOTIFY. */
const CREDENTIAL_TTL_MS = 10_000
/** of each kind */
const MAX_CREDENTIALS = 1_000

export function createCredentialCache(core: ReadCore): CredentialCache {
  const options = { ttlMs: CREDENTIAL_TTL_MS, maxEntries: MAX_CREDENTIALS }
  const caches = { key: new LookupCache<Identity>(options), session: new LookupCache<Identity>(options) }
  const lookUps = { key: lookUpKey, session: lookUpSession }
  return {
    find: (kind, hash, tenantId) =>
      caches[kind].get(cacheKey(hash, tenantId), () => lookUps[kind](core, hash, tenantId)),
    peek: (kind, hash, tenantId) => caches[kind].peek(cacheKey(hash, tenantId)),
    forget(id) {
      for (const cache of Object.values(caches)) cache.forget(id)
    },
    forgetAll() {
      for (const cache of Object.values(caches)) cache.clear()
    },
  }
}

const cacheKey = (hash: string, tenantId: string | null) => (tenantId === null ? hash : `${hash} ${tenantId}`)

async function lookUpKey(core: ReadCore, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifyKey(core, hash, tenantId)
  if (!found) return null
  const { id, validForMs: maxAgeMs, actor, workspace } = found
  return { id, maxAgeMs, value: { actor, workspace, credential: { kind: 'key' } } }
}

async function lookUpSession(core: ReadCore, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifySession(core, hash, tenantId)
  if (!found) return null
  const { id, keyId, validForMs: maxAgeMs, actor, workspace } = found
  return {
    id,
    parentId: keyId,
    maxAgeMs,
    value: { actor, workspace, credential: { kind: 'session', sessionId: id, keyId } },
  }
}
