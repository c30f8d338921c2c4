/** Which API keys still hold: asked again and again about those that have streams or waits open (api/auth/watch.ts). */
import type { Actor } from '../context/access.ts'

/** An API key, and the workspace that it acts in. */
export interface KeyInWorkspace {
  keyId: string
  workspaceId: string
}

/** What such a key may do now. */
export interface HoldingKey extends KeyInWorkspace {
  rights: Pick<Actor, 'role' | 'secretsRead' | 'listenerId' | 'agentId'>
}

/** What can run a statement: a pool of its own, so that revocations are found also while requests have all of theirs. */
export interface Queries {
  query<Row extends object>(sql: string, values: unknown[]): Promise<{ rows: Row[] }>
}

/** Of `asked` those whose key is neither expired nor revoked and still of the workspace. One statement. */
export async function holdingKeys(queries: Queries, asked: readonly KeyInWorkspace[]): Promise<HoldingKey[]> {
  const values = [asked.map(({ keyId }) => keyId), asked.map(({ workspaceId }) => workspaceId)]
  const { rows } = await queries.query<KeyInWorkspace & HoldingKey['rights']>(HOLDING, values)
  return rows.map(({ keyId, workspaceId, ...rights }) => ({ keyId, workspaceId, rights }))
}

const HOLDING = `
  SELECT k.id AS "keyId", w.id AS "workspaceId", k.role, k.secrets_read OR k.role = 'admin' AS "secretsRead",
         k.listener_id AS "listenerId", k.agent_id AS "agentId"
  FROM unnest($1::uuid[], $2::uuid[]) AS asked(key_id, workspace_id)
  JOIN api_keys k ON k.id = asked.key_id
  JOIN workspaces w ON w.id = asked.workspace_id AND w.organization_id = k.organization_id
  WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
    AND (k.workspace_id IS NULL OR k.workspace_id = w.id)`
