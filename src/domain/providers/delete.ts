/**
 * Deletes an OAuth provider that has no tokens any more, or, by force, with its tokens; with it go unfinished
 * authorizations.
 */
import { z } from 'zod'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { OAUTH_CHANNEL, type RequestContext, transaction } from '../context.ts'
import { ConflictError } from '../errors.ts'
import { queryBool } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { deleteTokensOfProvider } from '../tokens/delete-of-provider.ts'
import { lockProvider, requireProvider } from './find.ts'
import { providerPath } from './schemas.ts'
import { requireNoOthers, tellUsers, usersOf } from './users.ts'

export const deleteInput = z.object({
  path: providerPath,
  query: z.object({
    force: queryBool.describe('Deletes and revokes its tokens first, whoever owns them.'),
  }),
})

/**
 * Answers it as it was. Role: admin. Throws ForbiddenError, NotFoundError; ConflictError while tokens use it. By force
 * people lose their tokens, but nobody sees them, and each is revoked.
 */
export async function deleteProvider(ctx: RequestContext, raw: RawInput): Promise<OAuthProvider> {
  requireRole(ctx, 'admin')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  const lost = query.force
    ? await deleteTokensOfProvider(ctx, (await requireProvider(ctx, ctx.db, path.provider_id)).id)
    : []
  return transaction(ctx, async (tx) => {
    // a token that is stored at this moment shares the row: it is counted, or comes too late
    const provider = await lockProvider(tx, ctx, path.provider_id)
    const { id } = provider
    const users = await usersOf(tx.sql, id)
    requireNoOthers(ctx, users)
    const tokens = users.reduce((sum, user) => sum + user.tokens, 0)
    if (tokens > 0)
      throw new ConflictError(
        `OAuth provider ID ${path.provider_id} still has ${tokens === 1 ? '1 token' : `${tokens} tokens`}, counted in ` +
          'all workspaces of the organization. Their owners have to delete them first; or delete the provider with ' +
          'force=true, which deletes and revokes its tokens, too.',
      )
    // its authorizations go with it: who waits for one is told so
    await tx.sql.$executeRaw`
      SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM oauth_authorizations
      WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL`
    await tx.sql.oAuthProvider.delete({ where: { id }, select: { id: true } })
    tellUsers(tx, ctx, { id, users: [...users, ...lost], type: 'oauth_provider.deleted' })
    return provider
  })
}
