/** Deletes all tokens of a provider: an admin wants to be rid of it, and some owners may be gone. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RequestContext } from '../context.ts'
import { ForbiddenError } from '../errors.ts'
import { deleteTokens } from './delete-many.ts'

/**
 * Throws ForbiddenError where tokens of other workspaces are among them and the caller's credential is for one
 * workspace.
 */
export async function deleteTokensOfProvider(ctx: RequestContext, oauthProviderId: string): Promise<void> {
  const where = { oauthProviderId }
  const found = await ctx.db.oAuthToken.findMany({ where, distinct: ['workspaceId'], select: { workspaceId: true } })
  const workspaces = found.map(({ workspaceId }) => workspaceId)
  if (ctx.actor.workspaceId !== null && workspaces.some((id) => id !== ctx.workspace.id))
    throw new ForbiddenError(
      'Tokens of other workspaces are of this provider: only an organization-wide credential can delete them.',
    )
  for (const id of workspaces) await deleteTokens(ctx, id, Prisma.sql`oauth_provider_id = ${oauthProviderId}::uuid`)
}
