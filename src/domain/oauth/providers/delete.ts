/** Deletes an OAuth provider with its unfinished authorizations; with `force` also its tokens, otherwise it must have none. */
import { z } from 'zod'
import { type OAuthProvider, Prisma } from '../../../generated/prisma/client.ts'
import { ConflictError, rejectIfAny } from '../../errors/errors.ts'
import { requireVersion } from '../../errors/precondition.ts'
import { queryBool } from '../../parsing/fields.ts'
import { parse } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import { OAUTH_CHANNEL, type RequestContext, transaction } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/read-back.ts'
import { providerPath } from '../../values/oauth-provider.ts'
import { lockProvider, requireProvider } from '../provider-access/find.ts'
import { deleteTokens } from '../tokens/delete.ts'
import { emitToWorkspaces, findProviderUsers, type ProviderUser, requireNoOtherWorkspace } from './provider-users.ts'

export const deleteInput = z.object({
  path: providerPath,
  query: z.object({
    force: queryBool.describe('Deletes and revokes its tokens first, whoever owns them.'),
  }),
})

/**
 * Returns it as it was, or what `read` makes of that. With `force` the tokens of all owners are revoked, without being shown to anybody. Role: admin.
 * Throws ForbiddenError, NotFoundError; ConflictError while it has tokens.
 */
export const deleteProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  rejectIfAny(query.force && raw.ifMatch ? [FORCE_WITH_VERSION] : [])
  const formerUsers = query.force
    ? await deleteTokensOfProvider(ctx, await requireProvider(ctx, ctx.db, path.provider_id))
    : []
  return transaction(ctx, async (tx) => {
    // a concurrent call that stores a token has locked the row, too: its token is counted, or it finds no provider
    const provider = await lockProvider(tx, ctx, path.provider_id)
    const { id } = provider
    const users = await findProviderUsers(tx.sql, id)
    requireNoOtherWorkspace(ctx, provider, users)
    requireVersion(raw.ifMatch, 'OAuth provider', path.provider_id, provider)
    const tokens = users.reduce((sum, user) => sum + user.tokens, 0)
    if (tokens > 0)
      throw new ConflictError(
        `OAuth provider ID ${path.provider_id} still has ${tokens === 1 ? '1 token' : `${tokens} tokens`}, counted in ` +
          'all workspaces of the organization. Their owners have to delete them first; or delete the provider with ' +
          'force=true, which deletes and revokes its tokens, too.',
      )
    // its authorizations are deleted with it, by the foreign key: wake those who wait for one
    await tx.sql.$executeRaw`
      SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM oauth_authorizations
      WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL`
    await tx.sql.oAuthProvider.delete({ where: { id }, select: { id: true } })
    emitToWorkspaces(tx, ctx, { id, users: [...users, ...formerUsers], type: 'oauth_provider.deleted' })
    return read(tx, provider)
  })
})

/** Its tokens go in many transactions before it does: somebody could edit it when there is no way back. */
const FORCE_WITH_VERSION = {
  loc: ['query', 'force'],
  msg: 'Is not taken together with a version that the provider has to be at: look at it, then delete it by force without one.',
  type: 'value_error',
}

/** Deletes all tokens of a provider, and returns who used it. Throws as `requireNoOthers`. */
async function deleteTokensOfProvider(ctx: RequestContext, provider: OAuthProvider): Promise<ProviderUser[]> {
  const users = await findProviderUsers(ctx.db, provider.id)
  requireNoOtherWorkspace(ctx, provider, users)
  for (const { workspaceId, tokens } of users)
    if (tokens > 0) await deleteTokens(ctx, workspaceId, Prisma.sql`oauth_provider_id = ${provider.id}::uuid`)
  return users
}
