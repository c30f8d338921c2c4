/** Resolves an API key to its caller, and checks whether the credentials of open streams and waits are still valid. */

import { z } from 'zod'
import type { Plan } from '../../generated/prisma/enums.ts'
import { type Actor, RANKED_ROLES } from '../transaction/access.ts'
import type { ReadCore, Statement, Tenant } from '../transaction/context.ts'
import { COMMAND_LINE_SUBJECT } from '../values/event-types.ts'

export interface KeyIdentity {
  id: string
  /** until the key expires, by the database's clock; null: never */
  validForMs: number | null
  actor: Actor
  /**
   * the requested workspace, or else the key's own; null: none. An organization's builder key counts for the limits of
   * the organization's oldest workspace
   */
  workspace: Tenant | null
}

interface KeyRow extends Omit<Actor, 'subject' | 'kind'>, Tenancy, Pick<KeyIdentity, 'id' | 'validForMs'> {
  /** the last use was recorded more than a minute ago, or never */
  stale: boolean
}

// prepared statements, because every server looks up each active key every few seconds
const BY_HASH: Statement = {
  name: 'key_by_hash',
  text: `
    SELECT k.id, coalesce(k.owner, k.name) AS name, k.organization_id AS "organizationId", k.workspace_id AS "workspaceId", k.role, k.secrets_read AS "secretsRead",
           k.listener_id AS "listenerId", k.agent_id AS "agentId",
           (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "validForMs",
           (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute') AS stale, o.plan, w.id AS "tenantId"
    FROM api_keys k
    JOIN organizations o ON o.id = k.organization_id
    LEFT JOIN workspaces w ON w.organization_id = k.organization_id AND w.id = coalesce($2::uuid, k.workspace_id,
      CASE WHEN k.role = 'builder' THEN (
        SELECT f.id FROM workspaces f WHERE f.organization_id = k.organization_id ORDER BY f.created_at, f.id LIMIT 1) END)
    WHERE k.hash = $1 AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())`,
}
const RECORD_USE: Statement = {
  name: 'key_used',
  text: `
    UPDATE api_keys SET last_used_at = now()
    WHERE id = $1::uuid AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')`,
}
const TENANCY: Statement = {
  name: 'tenancy',
  text: `
    SELECT o.plan, w.id AS "tenantId" FROM organizations o
    LEFT JOIN workspaces w ON w.organization_id = o.id AND w.id = $2::uuid
    WHERE o.id = $1::uuid`,
}

/** One statement. Null: unknown, expired or revoked. `tenantId`: the requested workspace. */
export async function identifyKey(core: ReadCore, hash: string, tenantId: string | null): Promise<KeyIdentity | null> {
  const [row] = await core.query<KeyRow>(BY_HASH, [hash, tenantId])
  if (!row) return null
  const { id, validForMs, stale, plan, tenantId: requestedId, ...rights } = row
  if (stale) recordUse(core, id)
  const { organizationId, role, secretsRead } = rights
  return {
    id,
    validForMs,
    actor: { ...rights, kind: 'api_key', subject: id, secretsRead: secretsRead || role === 'admin' },
    workspace: requestedId === null ? null : { id: requestedId, organizationId, plan },
  }
}

/** Records the last use, at most once a minute across all servers. No call waits for it. */
function recordUse(core: ReadCore, id: string): void {
  core
    .query(RECORD_USE, [id])
    .catch((error) => core.log.warn({ err: error }, 'could not record the last use of an API key'))
}

export interface Tenancy {
  plan: Plan
  /** null: no workspace was requested, or it belongs to another organization */
  tenantId: string | null
}

/** Returns an organization's plan, and the workspace if it is the organization's. Null: there is no such organization. */
export async function findTenancy(
  core: ReadCore,
  organizationId: string,
  tenantId: string | null,
): Promise<Tenancy | null> {
  const [row] = await core.query<Tenancy>(TENANCY, [organizationId, tenantId])
  return row ?? null
}

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

const CLAIMS = {
  organization: 'org',
  /** id of the workspace; absent: every workspace of the organization, selected by X-Tenant-Id */
  workspace: 'workspace',
  role: 'role',
  subject: 'sub',
} as const

/** In UTF-16 units. */
const MAX_SUBJECT_LENGTH = 256
/** Characters that a text column rejects (NUL, half of a surrogate pair) or that would forge a line in a log. */
const FORBIDDEN_CHARACTERS = /[\p{Cc}\p{Surrogate}\u2028\u2029]/u

const line = z
  .string()
  .min(1)
  .max(MAX_SUBJECT_LENGTH)
  .refine((text) => !FORBIDDEN_CHARACTERS.test(text))

const claimsSchema = z.object({
  // a person must not look like the command line
  [CLAIMS.subject]: line.refine((text) => text !== COMMAND_LINE_SUBJECT),
  [CLAIMS.organization]: z.uuid().toLowerCase(),
  [CLAIMS.workspace]: z.uuid().toLowerCase().nullish(),
  [CLAIMS.role]: z.enum(RANKED_ROLES),
})

interface Person {
  subject: string
  organizationId: string
  workspaceId: string | null
  role: (typeof RANKED_ROLES)[number]
}

/** Returns the person, or the names of missing or invalid claims. */
export function readPerson(claims: Record<string, unknown>): { person: Person } | { wrong: string[] } {
  const read = claimsSchema.safeParse(claims)
  if (!read.success) return { wrong: [...new Set(read.error.issues.map(({ path }) => String(path[0])))] }
  const { sub, org, workspace = null, role } = read.data
  return { person: { subject: sub, organizationId: org, workspaceId: workspace, role } }
}

/** Returns the first usable name claim of OpenID Connect, or else the subject. */
export function personName(claims: Record<string, unknown>, { subject }: Person): string {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const read = line.safeParse(claims[claim])
    if (read.success) return read.data
  }
  return subject
}
