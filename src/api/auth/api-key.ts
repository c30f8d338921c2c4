/**
 * API key → who calls, and for which workspace: one statement for key, workspace and plan, then nothing for
 * some seconds. A revocation is known on its server at once and on every other one as soon as the NOTIFY is there;
 * should that get lost, the cache's time is the longest that a revoked key still works elsewhere.
 */
import type { Actor } from '../../domain/context/access.ts'
import type { Core, Tenant } from '../../domain/context/context.ts'
import type { Credential } from '../../domain/context/credential.ts'
import { identifyKey } from '../../domain/keys/identity.ts'
import { hashKey } from '../../domain/keys/key.ts'
import { type Found, LookupCache } from './lookup.ts'

/** Who calls, and the workspace that was asked for: null if there is none or it is not of the caller's organization. */
export interface Identity {
  actor: Actor
  credential: Credential
  workspace: Tenant | null
}

export interface ApiKeys {
  /** Null: unknown, expired or revoked. `tenantId`: a UUID, or null if none was named. */
  find(text: string, tenantId: string | null): Promise<Identity | null>
  /** The key is revoked. */
  forget(keyId: string): void
  /** Revocations may have been missed: look everything up again. */
  forgetAll(): void
}

/** ms. The bound on how long a lost NOTIFY keeps a revoked key alive. */
const KEY_TTL = 10_000
const CACHED_KEYS = 1_000

export function createApiKeys(core: Core): ApiKeys {
  const cache = new LookupCache<Identity>({ ttl: KEY_TTL, size: CACHED_KEYS })
  return {
    find(text, tenantId) {
      const hash = hashKey(text)
      return cache.get(`${hash} ${tenantId ?? ''}`, () => look(core, hash, tenantId))
    },
    forget: (keyId) => cache.forget(keyId),
    forgetAll: () => cache.clear(),
  }
}

async function look(core: Core, hash: string, tenantId: string | null): Promise<Found<Identity> | null> {
  const found = await identifyKey(core, hash, tenantId)
  if (!found) return null
  const { id, holdsFor, actor, workspace } = found
  return { id, holdsFor, value: { actor, workspace, credential: { kind: 'key' } } }
}
