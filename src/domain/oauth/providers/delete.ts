/** Deletes an OAuth provider with its unfinished authorizations. With `force` also its tokens; otherwise it must have none. */
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
import { lockProvider, providers } from '../provider-access.ts'
import { deleteTokens } from '../tokens/delete.ts'
import { emitToWorkspaces, findProviderUsers, type ProviderUser, requireNoOtherWorkspace } from './provider-users.ts'

export const deleteInput = z.object({
  path: providerPath,
  query: z.object({
    force: queryBool.describe('Also deletes and revokes the tokens of all owners.'),
  }),
})

/** `force` revokes the tokens of all owners and shows none. Throws ConflictError while the provider has tokens. */
export const deleteProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  rejectIfAny(query.force && raw.ifMatch ? [FORCE_WITH_VERSION] : [])
  const formerUsers = query.force
    ? await deleteTokensOfProvider(ctx, await providers.get(ctx, () => path.provider_id))
    : []
  return transaction(ctx, async (tx) => {
    // A concurrent call that stores a token locks this row too: its token is counted here, or it finds no provider.
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
    // The foreign key deletes its authorizations: wake the callers that wait for one.
    await tx.sql.$executeRaw`
      SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM oauth_authorizations
      WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL`
    await tx.sql.oAuthProvider.delete({ where: { id }, select: { id: true } })
    emitToWorkspaces(tx, ctx, { id, users: [...users, ...formerUsers], type: 'oauth_provider.deleted' })
    return read(tx, provider)
  })
})

/** `force` deletes tokens in many transactions first. A version mismatch found after that could not be undone. */
const FORCE_WITH_VERSION = {
  loc: ['query', 'force'],
  msg: 'Cannot be combined with an expected version: read the provider, then delete it with force and without a version.',
  type: 'value_error',
}

/** Deletes all tokens of a provider. Returns the workspaces that used it. Throws like `requireNoOtherWorkspace`. */
async function deleteTokensOfProvider(ctx: RequestContext, provider: OAuthProvider): Promise<ProviderUser[]> {
  const users = await findProviderUsers(ctx.db, provider.id)
  requireNoOtherWorkspace(ctx, provider, users)
  for (const { workspaceId, tokens } of users)
    if (tokens > 0) await deleteTokens(ctx, workspaceId, Prisma.sql`oauth_provider_id = ${provider.id}::uuid`)
  return users
}
