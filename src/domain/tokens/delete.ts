/** Deletes a token with its connections, and revokes it at the provider. */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { ownTokens } from './own.ts'
import { REMOVABLE, type RemovableToken, removeToken } from './remove.ts'
import { revokeNow } from './revoke.ts'
import { tokenPath } from './schemas.ts'

export const deleteInput = z.object({ path: tokenPath })

/**
 * Role: deployer. Throws NotFoundError. From the commit on no agent gets it; the provider is told right after, for some
 * seconds at most and whether or not the client is still there, otherwise later.
 */
export async function deleteToken(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'deployer')
  const { path } = parse(deleteInput, raw)
  const revocation = await transaction(ctx, async (tx) => {
    const token = await lockToken(tx, ctx, path.token_id)
    return removeToken(tx, ctx, token, ctx.actor.subject)
  })
  if (revocation) await revokeNow(ctx, revocation)
}

/**
 * Locks a token of the caller's against everything, also new connections, and reads it. Before what names it: whoever
 * finishes an authorization goes the same way. Throws NotFoundError.
 */
async function lockToken(tx: Tx, ctx: RequestContext, id: string): Promise<RemovableToken> {
  const { workspaceId, subject } = ownTokens(ctx)
  const locked = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM oauth_tokens
    WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject} FOR UPDATE`
  if (locked.length === 0) throw new NotFoundError('OAuth token', id)
  return tx.sql.oAuthToken.findUniqueOrThrow({ where: { id }, include: REMOVABLE })
}
