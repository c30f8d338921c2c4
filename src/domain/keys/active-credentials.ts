/** Checks whether the credentials of open streams and waits are still valid (api/auth/credential-watch.ts). */
import type { Actor } from '../transaction/access.ts'

export interface CredentialInWorkspace {
  credentialId: string
  workspaceId: string
}

export interface ActiveCredential extends CredentialInWorkspace {
  rights: Pick<Actor, 'role' | 'secretsRead' | 'listenerId' | 'agentId'>
}

/** Runs statements on a separate pool, so revocations are found even while requests use all other connections. */
export interface Queries {
  query<Row extends object>(sql: string, values: unknown[]): Promise<{ rows: Row[] }>
}

/** Returns the credentials that are neither expired nor revoked and may act in the workspace. One statement. */
export async function activeCredentials(
  queries: Queries,
  requested: readonly CredentialInWorkspace[],
): Promise<ActiveCredential[]> {
  const values = [requested.map(({ credentialId }) => credentialId), requested.map(({ workspaceId }) => workspaceId)]
  const { rows } = await queries.query<CredentialInWorkspace & ActiveCredential['rights']>(ACTIVE_CREDENTIALS, values)
  return rows.map(({ credentialId, workspaceId, ...rights }) => ({ credentialId, workspaceId, rights }))
}

/** An id belongs to a key or a session. A session ends with its key. */
const ACTIVE_CREDENTIALS = `
  WITH requested AS (SELECT * FROM unnest($1::uuid[], $2::uuid[]) AS requested(credential_id, workspace_id))
  SELECT k.id AS "credentialId", w.id AS "workspaceId", k.role, k.secrets_read OR k.role = 'admin' AS "secretsRead",
         k.listener_id AS "listenerId", k.agent_id AS "agentId"
  FROM requested
  JOIN api_keys k ON k.id = requested.credential_id
  JOIN workspaces w ON w.id = requested.workspace_id AND w.organization_id = k.organization_id
  WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    AND (k.workspace_id IS NULL OR k.workspace_id = w.id)
  UNION ALL
  SELECT s.id, w.id, coalesce(k.role, s.role), coalesce(k.secrets_read, false) OR coalesce(k.role, s.role) = 'admin',
         k.listener_id, k.agent_id
  FROM requested
  JOIN sessions s ON s.id = requested.credential_id
  JOIN workspaces w ON w.id = requested.workspace_id AND w.organization_id = s.organization_id
  LEFT JOIN api_keys k ON k.id = s.api_key_id
  WHERE s.ended_at IS NULL AND s.expires_at > now() AND s.hash IS NOT NULL
    AND (s.api_key_id IS NULL OR (k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())))
    AND (s.workspace_id IS NULL OR s.workspace_id = w.id)`
