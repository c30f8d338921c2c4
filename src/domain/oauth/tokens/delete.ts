/** Deletes tokens with their connections and revokes them: one of the caller's, or for admins all of a user or a provider. */
import { z } from 'zod'
import { Prisma } from '../../../generated/prisma/client.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { printable } from '../../parsing/fields.ts'
import { parse } from '../../parsing/parse.ts'
import { toDelete } from '../../repositories/locks.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type Core, type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { once, settle, unguarded } from '../../transaction/once.ts'
import type { EventActor } from '../../values/event-types.ts'
import { tokenPath } from '../../values/oauth-provider.ts'
import { queueRevocation, type Revocation, releaseRevocations, revokeNow } from './revoke.ts'
import { openToken, ownTokens } from './token.ts'

/** A small batch keeps the transaction's locks short. */
const BATCH_ROWS = 100

export const deleteInput = z.object({ path: tokenPath })

/** The call then waits a few seconds for the revocation, even without its client. The job repeats a failed one. */
export const deleteToken = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(deleteInput, raw)
  const revocation = await transaction(ctx, async (tx) => {
    const token = await lockToken(tx, ctx, path.token_id)
    return deleteLocked(tx, ctx, token, actorOf(ctx.actor))
  })
  if (revocation) await revokeNow(ctx, revocation)
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

async function deleteBatch(tx: Tx, ctx: RequestContext, condition: Prisma.Sql) {
  const locked = await tx.sql.$queryRaw<{ id: string }[]>`
    SELECT id FROM oauth_tokens WHERE ${condition} ORDER BY id LIMIT ${BATCH_ROWS}::int ${toDelete('oauth_tokens')}`
  const where = { id: { in: locked.map(({ id }) => id) } }
  const tokens = await tx.sql.oAuthToken.findMany({ where, include: DELETE_INCLUDE })
  const revocations: Revocation[] = []
  for (const token of tokens) {
    const queued = await deleteLocked(tx, ctx, token, actorOf(ctx.actor))
    if (queued) revocations.push(queued)
  }
  return { count: tokens.length, revocations }
}

const DELETE_INCLUDE = {
  provider: true,
  connections: { select: { id: true }, orderBy: { id: 'asc' } },
} as const satisfies Prisma.OAuthTokenInclude

type DeletableToken = Prisma.OAuthTokenGetPayload<{ include: typeof DELETE_INCLUDE }>

/** Lock order: the token's row before the rows that refer to it, as in finishAuthorization. Throws NotFoundError. */
async function lockToken(tx: Tx, ctx: RequestContext, id: string): Promise<DeletableToken> {
  const { workspaceId, subject } = ownTokens(ctx)
  const locked = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM oauth_tokens
    WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject} ${toDelete('oauth_tokens')}`
  if (locked.length === 0) throw new NotFoundError('OAuth token', id)
  return tx.sql.oAuthToken.findUniqueOrThrow({ where: { id }, include: DELETE_INCLUDE })
}

/** Returns the queued revocation; null: none is needed. The caller may run it after the commit; otherwise the job does. */
async function deleteLocked(
  tx: Tx,
  { keyring }: Pick<Core, 'keyring'>,
  { connections, provider, ...token }: DeletableToken,
  actor: EventActor,
): Promise<Revocation | null> {
  const { id, workspaceId } = token
  const queued = await queueRevocation(tx, keyring, provider, token, openToken(keyring, token))
  // the foreign key deletes its connections
  await tx.sql.oAuthToken.delete({ where: { id }, select: { id: true } })
  for (const connection of connections)
    tx.emit({ workspaceId, type: 'connection.deleted', subjectId: connection.id, actor })
  tx.emit({ workspaceId, type: 'oauth_token.deleted', subjectId: id, actor })
  return queued
}
