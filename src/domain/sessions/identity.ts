/** Resolves the halves of a session to its caller, in one statement, like keys/identity.ts for a key. */
import type { Plan, Role } from '../../generated/prisma/enums.ts'
import type { Actor } from '../transaction/access.ts'
import type { ReadCore, Statement, Tenant } from '../transaction/context.ts'

export interface SessionIdentity {
  id: string
  /** the API key that opened it; null: none */
  keyId: string | null
  /** until the session or its key expires, by the database's clock */
  validForMs: number
  actor: Actor
  /** the requested workspace, or else the session's own; null: none, or one of another organization */
  workspace: Tenant | null
}

interface Row {
  id: string
  keyId: string | null
  kind: Actor['kind']
  subject: string
  name: string | null
  organizationId: string
  workspaceId: string | null
  role: Role
  secretsRead: boolean
  validForMs: number
  stale: boolean
  plan: Plan
  tenantId: string | null
}

const BY_HASH: Statement = {
  name: 'session_by_hash',
  text: `
    SELECT s.id, s.api_key_id AS "keyId", s.kind, s.subject, coalesce(k.owner, k.name, s.name) AS name, s.organization_id AS "organizationId",
           s.workspace_id AS "workspaceId", coalesce(k.role, s.role) AS role,
           coalesce(k.secrets_read, false) OR coalesce(k.role, s.role) = 'admin' AS "secretsRead",
           (extract(epoch FROM least(s.expires_at, k.expires_at) - now()) * 1000)::float8 AS "validForMs",
           (s.last_used_at IS NULL OR s.last_used_at < now() - interval '1 minute') AS stale, o.plan, w.id AS "tenantId"
    FROM sessions s
    JOIN organizations o ON o.id = s.organization_id
    LEFT JOIN api_keys k ON k.id = s.api_key_id
    LEFT JOIN workspaces w ON w.organization_id = s.organization_id AND w.id = coalesce($2::uuid, s.workspace_id)
    WHERE s.hash = ANY ($1::text[]) AND s.ended_at IS NULL AND s.expires_at > now()
      AND (s.api_key_id IS NULL OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))`,
}

/** A use of the session also counts as a use of its key. */
const RECORD_USE: Statement = {
  name: 'session_used',
  text: `
    WITH used AS (
      UPDATE sessions SET last_used_at = now()
      WHERE id = $1::uuid AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute') RETURNING api_key_id
    )
    UPDATE api_keys SET last_used_at = now() FROM used WHERE id = used.api_key_id`,
}

/** `hashes`: from `candidateHashes`. Null: unknown or ended, or its key has ended. `tenantId`: the requested workspace. */
export async function identifySession(
  core: ReadCore,
  hashes: string,
  tenantId: string | null,
): Promise<SessionIdentity | null> {
  const [row] = await core.query<Row>(BY_HASH, [hashes.split(' '), tenantId])
  if (!row) return null
  const { id, keyId, validForMs, stale, plan, tenantId: requestedId, name, ...who } = row
  if (stale) recordUse(core, id)
  const { organizationId, subject } = who
  return {
    id,
    keyId,
    validForMs,
    actor: { ...who, name: name ?? subject, listenerId: null, agentId: null, viaSession: true },
    workspace: requestedId === null ? null : { id: requestedId, organizationId, plan },
  }
}

/** At most once a minute across all servers. No call waits for it. */
function recordUse(core: ReadCore, id: string): void {
  core
    .query(RECORD_USE, [id])
    .catch((error) => core.log.warn({ err: error }, 'could not record the last use of a session'))
}
