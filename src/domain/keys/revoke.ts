/** Revokes an API key. This server rejects it after the commit, other servers after the NOTIFY (api/auth/api-key.ts). */

import { z } from 'zod'
import { ForbiddenError, NotFoundError, UnauthenticatedError } from '../errors/errors.ts'
import { uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type RequestContext, type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import type { ActorRef } from '../values/event-actor.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'
import { visibleKeys } from './list.ts'

export const revokeInput = z.object({ path: z.object({ api_key_id: uuid }) })

/** NOTIFY channel for revoked keys and ended sessions. The payload is the id. */
export const KEY_CHANNEL = 'pilothouse_keys'

/** Idempotent. Role: admin. Throws NotFoundError; ForbiddenError if a workspace credential revokes an organization-wide key. */
export const revokeKey = writeVerb<KeyView>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path } = parse(revokeInput, raw)
  const id = path.api_key_id
  const row = await transaction(ctx, async (tx) => {
    const found = await tx.sql.apiKey.findFirst({ where: { id, AND: visibleKeys(ctx) }, omit: WITHOUT_HASH })
    if (!found) throw new NotFoundError('API key', id)
    if (found.workspaceId === null && ctx.actor.workspaceId !== null) {
      throw new ForbiddenError('Only an organization-wide credential can revoke an organization-wide key.')
    }
    const revoked = await markRevoked(tx, found, { workspaceId: ctx.workspace.id, actor: actorOf(ctx.actor) })
    return read(tx, revoked)
  })
  ctx.onKeyRevoked?.(id)
  return row
})

/** Stores the revocation once and notifies every server. `log`: workspace and actor of the event. */
export async function markRevoked(
  tx: Tx,
  key: Pick<KeyView, 'id'>,
  log: { workspaceId: string; actor: ActorRef },
): Promise<KeyView> {
  const { count } = await tx.sql.apiKey.updateMany({
    where: { id: key.id, revokedAt: null },
    data: { revokedAt: tx.now() },
  })
  if (count > 0) {
    tx.emit({ workspaceId: log.workspaceId, type: 'api_key.revoked', subjectId: key.id, actor: log.actor })
    await tx.sql.$executeRaw`SELECT pg_notify(${KEY_CHANNEL}, ${key.id})`
  }
  return tx.sql.apiKey.findUniqueOrThrow({ where: { id: key.id }, omit: WITHOUT_HASH })
}

/** For a call that waited before it returns secrets: its key may have ended since. Throws UnauthenticatedError. */
export async function refuseRevoked(ctx: RequestContext): Promise<void> {
  const key = await ctx.db.apiKey.findUnique({ where: { id: ctx.actor.subject } })
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt <= ctx.clock()))
    throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
}
