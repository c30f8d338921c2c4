/** The builds that a builder may take: of its key's workspace, or of all workspaces of the organization. */
import { Prisma } from '../../generated/prisma/client.ts'
import { toChangeOrSkip } from '../repositories/locks.ts'
import { requireBuilder } from '../transaction/access.ts'
import { buildersOf, type RequestContext } from '../transaction/context.ts'

export interface BuilderScope {
  /** of the API key */
  keyId: string
  organizationId: string
  /** null: all workspaces of the organization */
  workspaceId: string | null
}

/** First line of a builder's calls. Throws ForbiddenError for any other key. */
export function scopeOf({ actor }: Pick<RequestContext, 'actor'>): BuilderScope {
  requireBuilder({ actor })
  return { keyId: actor.subject, organizationId: actor.organizationId, workspaceId: actor.workspaceId }
}

/** A condition on deployments `d`. */
export function builderScopeSql({ organizationId, workspaceId }: BuilderScope): Prisma.Sql {
  return workspaceId === null
    ? Prisma.sql`d.workspace_id IN (SELECT w.id FROM workspaces w WHERE w.organization_id = ${organizationId}::uuid)`
    : Prisma.sql`d.workspace_id = ${workspaceId}::uuid`
}

/** The channel that wakes the builder's waiting calls when its builds or offers change. */
export const wakeChannel = ({ organizationId, workspaceId }: BuilderScope): string =>
  buildersOf(workspaceId ?? organizationId)

/**
 * A part of a WITH clause: records that a builder called with this key, so steps may be offered. Writes at most every 20 s,
 * and skips a locked key.
 */
export const builderSeen = ({ keyId }: BuilderScope): Prisma.Sql => Prisma.sql`
  seen AS (
    UPDATE api_keys SET builder_seen_at = now() WHERE id IN (
      SELECT id FROM api_keys
      WHERE id = ${keyId}::uuid AND (builder_seen_at IS NULL OR builder_seen_at < now() - interval '20 seconds')
      ${toChangeOrSkip('api_keys')})
  )`
