/** Deletes tokens with their connections and revokes them: one of the caller's, or for admins all of a user or a provider. */
import { z } from 'zod'
import { Prisma } from '../../../generated/prisma/client.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { printable } from '../../parsing/fields.ts'
import { parse } from '../../parsing/parse.ts'
import { toDelete } from '../../repositories/locks.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { once, settle, unguarded } from '../../transaction/once.ts'
import { tokenPath } from '../../values/oauth-provider.ts'
import { queueRevocation, type Revocation, releaseRevocations, revokeNow } from './revoke.ts'
import { openToken, ownTokens } from './token.ts'

/** A small batch keeps the transaction's locks short. */
const BATCH_ROWS = 100

export const deleteInput = z.object({ path: tokenPath })

/** The call then waits a few seconds for the revocation, even without its client. The job repeats a failed one. */
export const deleteToken = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'deployer')
  const { token_id: id } = parse(deleteInput, raw).path
  const { workspaceId, subject } = ownTokens(ctx)
  const own = Prisma.sql`id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject}`
  const { revocations } = await transaction(ctx, async (tx) => {
    const deleted = await deleteBatch(tx, ctx, own)
    if (deleted.count === 0) throw new NotFoundError('OAuth token', id)
    return deleted
  })
  for (const revocation of revocations) await revokeNow(ctx, revocation)
})

export const deleteOfUserInput = z.object({
  query: z.object({
    user_id: printable(255).describe(
      'The owner of the tokens: the `sub` of a JWT, the id of a key, or a `user_id` of authenticate.',
    ),
  }),
})

/** Deletes one user's tokens in this workspace, for example of a revoked key. The job revokes them. Returns their number. */
export const deleteTokensOfUser = once<number>(async (ctx, raw) => {
  requireRole(ctx, 'admin')
  const { query } = parse(deleteOfUserInput, raw)
  return settle(ctx, await deleteTokens(ctx, ctx.workspace.id, Prisma.sql`subject = ${query.user_id}`))
})

/**
 * Deletes matching tokens in batches, so it may be interrupted and repeated. Returns their number. The call's outcome is not
 * stored for its idempotency key.
 */
export async function deleteTokens(ctx: RequestContext, workspaceId: string, condition: Prisma.Sql): Promise<number> {
  const where = Prisma.sql`workspace_id = ${workspaceId}::uuid AND ${condition}`
  let deleted = 0
  for (;;) {
    const { count, revocations } = await transaction(unguarded(ctx), (tx) => deleteBatch(tx, ctx, where))
    if (count === 0) return deleted
    deleted += count
    await releaseRevocations(ctx, revocations)
  }
}

/**
 * Lock order: a token's row before the rows that refer to it, as in finishAuthorization. Returns the queued revocations: the
 * caller may run them after the commit, otherwise the job does.
 */
async function deleteBatch(
  tx: Tx,
  ctx: ReadContext,
  condition: Prisma.Sql,
): Promise<{ count: number; revocations: Revocation[] }> {
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens WHERE ${condition} ORDER BY id LIMIT ${BATCH_ROWS}::int ${toDelete('oauth_tokens')}`
  const tokens = await tx.sql.oAuthToken.findMany({
    where: { id: { in: locked.map(({ id }) => id) } },
    include: { provider: true, connections: { select: { id: true }, orderBy: { id: 'asc' } } },
  })
  const actor = actorOf(ctx.actor)
  const revocations: Revocation[] = []
  for (const { connections, provider, ...token } of tokens) {
    const { id, workspaceId } = token
    const queued = await queueRevocation(tx, ctx.keyring, provider, token, openToken(ctx.keyring, token))
    if (queued) revocations.push(queued)
    // the foreign key deletes its connections
    await tx.sql.oAuthToken.delete({ where: { id }, select: { id: true } })
    for (const connection of connections)
      tx.emit({ workspaceId, type: 'connection.deleted', subjectId: connection.id, actor })
    tx.emit({ workspaceId, type: 'oauth_token.deleted', subjectId: id, actor })
  }
  return { count: tokens.length, revocations }
}
