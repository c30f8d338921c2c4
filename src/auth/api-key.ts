/**
 * API key → who calls, and for which workspace: one statement for key, workspace and plan, then nothing for
 * some seconds. A revocation is known on its server at once and on every other one as soon as the NOTIFY is there;
 * should that get lost, the cache's time is the longest that a revoked key still works elsewhere.
 */
import type { Actor } from '../domain/access.ts'
import type { Core, Tenant } from '../domain/context.ts'
import { hashKey } from '../domain/keys/key.ts'
import type { Plan, Role } from '../generated/prisma/enums.ts'
import { type Found, LookupCache } from './lookup.ts'

/** Who calls, and the workspace that was asked for: null if there is none or it is not of the caller's organization. */
export interface Identity {
  actor: Actor
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

interface Row {
  id: string
  organizationId: string
  workspaceId: string | null
  role: Role
  secretsRead: boolean
  listenerId: string | null
  agentId: string | null
  /** ms until it expires, by the database's clock; null: never */
  holdsFor: number | null
  /** its last use was written a while ago, or never */
  stale: boolean
  plan: Plan
  tenantId: string | null
}

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
  const [row] = await core.db.$queryRaw<Row[]>`
    SELECT k.id, k.organization_id AS "organizationId", k.workspace_id AS "workspaceId", k.role, k.secrets_read AS "secretsRead",
           k.listener_id AS "listenerId", k.agent_id AS "agentId",
           (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "holdsFor",
           (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute') AS stale, o.plan, w.id AS "tenantId"
    FROM api_keys k
    JOIN organizations o ON o.id = k.organization_id
    LEFT JOIN workspaces w ON w.organization_id = k.organization_id AND w.id = coalesce(${tenantId}::uuid, k.workspace_id)
    WHERE k.hash = ${hash} AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`
  if (!row) return null
  if (row.stale) noteUse(core, row.id)
  const { organizationId, role, plan } = row
  return {
    id: row.id,
    holdsFor: row.holdsFor,
    value: {
      actor: {
        subject: row.id,
        organizationId,
        workspaceId: row.workspaceId,
        role,
        secretsRead: row.secretsRead || role === 'admin',
        listenerId: row.listenerId,
        agentId: row.agentId,
      },
      workspace: row.tenantId === null ? null : { id: row.tenantId, organizationId, plan },
    },
  }
}

/** Writes when the key was last used, at most once a minute however many servers ask. No call waits for it. */
function noteUse(core: Core, id: string): void {
  core.db.$executeRaw`
    UPDATE api_keys SET last_used_at = now()
    WHERE id = ${id}::uuid AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`.catch((error) =>
    core.log.warn({ err: error }, 'the last use of an API key could not be written'),
  )
}
