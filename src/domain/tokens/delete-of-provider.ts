/** Deletes all tokens of a provider: an admin wants to be rid of it, and some owners may be gone. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RequestContext } from '../context.ts'
import { type ProviderUser, requireNoOthers, usersOf } from '../providers/users.ts'
import { deleteTokens } from './delete-many.ts'

/**
 * Answers who used it. Throws ForbiddenError where tokens of other workspaces are among them and the caller's credential
 * is for one workspace.
 */
export async function deleteTokensOfProvider(ctx: RequestContext, oauthProviderId: string): Promise<ProviderUser[]> {
  const users = await usersOf(ctx.db, oauthProviderId)
  requireNoOthers(ctx, users)
  for (const { workspaceId, tokens } of users)
    if (tokens > 0) await deleteTokens(ctx, workspaceId, Prisma.sql`oauth_provider_id = ${oauthProviderId}::uuid`)
  return users
}
