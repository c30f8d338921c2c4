/**
 * Finds the workspaces that use an OAuth provider, which belongs to the organization, and sends each an event on changes. A
 * workspace credential may change or delete a provider only if its workspace created it and no other workspace has tokens.
 */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { ForbiddenError } from '../../errors/errors.ts'
import type { NewEvent } from '../../outbox/append.ts'
import { actorOf } from '../../transaction/access.ts'
import type { RequestContext, Sql, Tx } from '../../transaction/context.ts'

/** A workspace with tokens of the provider or unfinished authorizations. */
export interface ProviderUser {
  workspaceId: string
  tokens: number
}

export function findProviderUsers(sql: Sql, id: string): Promise<ProviderUser[]> {
  return sql.$queryRaw<ProviderUser[]>`
    SELECT workspace_id::text AS "workspaceId", count(token)::int AS tokens FROM (
      SELECT workspace_id, id AS token FROM oauth_tokens WHERE oauth_provider_id = ${id}::uuid
      UNION ALL
      SELECT workspace_id, NULL FROM oauth_authorizations WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL
    ) AS uses GROUP BY workspace_id`
}

/** Throws ForbiddenError for a workspace credential if another workspace created the provider or has tokens of it. */
export function requireNoOtherWorkspace(
  { actor, workspace }: RequestContext,
  { createdIn }: Pick<OAuthProvider, 'createdIn'>,
  users: readonly ProviderUser[],
): void {
  if (actor.workspaceId === null) return
  const others = users.some(({ workspaceId, tokens }) => tokens > 0 && workspaceId !== workspace.id)
  if (!others && (createdIn === null || createdIn === workspace.id)) return
  const why = others ? 'Other workspaces have tokens of this provider' : 'Another workspace created this provider'
  throw new ForbiddenError(
    `${why}, which belongs to the organization: it can be changed or deleted only with an organization-wide credential.`,
  )
}

/** Emits an event in the caller's workspace and in each workspace that uses the provider. */
export function emitToWorkspaces(
  tx: Tx,
  ctx: RequestContext,
  { id, users, ...what }: { id: string; users: readonly ProviderUser[] } & Pick<NewEvent, 'type' | 'changed'>,
): void {
  for (const workspaceId of new Set([ctx.workspace.id, ...users.map((user) => user.workspaceId)]))
    tx.emit({ workspaceId, ...what, subjectId: id, actor: actorOf(ctx.actor) })
}
