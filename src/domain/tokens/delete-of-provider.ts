/** Deletes all tokens of a provider, whoever owns them: an admin wants to be rid of it, and some owners may be gone. */
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { ForbiddenError } from '../errors.ts'
import { REMOVABLE, removeToken } from './remove.ts'

/** in one transaction: what it locks is free again soon, and what is done is done */
const A_BATCH = 100

/**
 * The provider is told later, by the job. Again and again until there are none: a step that can be repeated. Throws
 * ForbiddenError where tokens of other workspaces are among them and the caller's credential is for one workspace.
 */
export async function deleteTokensOf(ctx: RequestContext, oauthProviderId: string): Promise<void> {
  const { workspaceId } = ctx.actor
  const elsewhere = { oauthProviderId, workspaceId: { not: ctx.workspace.id } }
  if (workspaceId !== null && (await ctx.db.oAuthToken.count({ where: elsewhere })) > 0)
    throw new ForbiddenError(
      'Tokens of other workspaces are of this provider: only an organization-wide credential can delete them.',
    )
  while (await transaction(ctx, (tx) => deleteSome(tx, ctx, oauthProviderId))) {
    // the next ones
  }
}

/** Of one workspace: a transaction writes the log of one. False: there are none left. */
async function deleteSome(tx: Tx, ctx: RequestContext, oauthProviderId: string): Promise<boolean> {
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens
    WHERE oauth_provider_id = ${oauthProviderId}::uuid AND workspace_id = (
      SELECT workspace_id FROM oauth_tokens WHERE oauth_provider_id = ${oauthProviderId}::uuid LIMIT 1)
    ORDER BY id LIMIT ${A_BATCH}::int FOR UPDATE`
  const ids = locked.map(({ id }) => id)
  const tokens = await tx.sql.oAuthToken.findMany({ where: { id: { in: ids } }, include: REMOVABLE })
  for (const token of tokens) await removeToken(tx, ctx, token, ctx.actor.subject)
  return locked.length > 0
}
