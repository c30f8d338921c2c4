/** Deletes a listener without deployments and revokes its keys. */
import { z } from 'zod'
import { requireVersion } from '../errors/precondition.ts'
import { markRevoked } from '../keys/revoke.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { forgetListener } from '../repositories/deployment.ts'
import { lockListener } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type RequestContext, transaction } from '../transaction/context.ts'
import { once } from '../transaction/once.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { listenerPath } from './schemas.ts'
import { refuseIfUsed } from './used-by.ts'

export const deleteInput = z.object({ path: listenerPath })

/** Role: admin. Throws ForbiddenError (also for the plan), NotFoundError; ConflictError while a deployment is not torn down. */
export const deleteListener = (ctx: RequestContext, raw: RawInput): Promise<void> => once(ctx, raw, remove)

async function remove(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'admin')
  requireListenerPlan(ctx)
  const { path } = parse(deleteInput, raw)
  const log = { workspaceId: ctx.workspace.id, actor: actorOf(ctx.actor) }
  const revoked = await transaction(ctx, async (tx) => {
    const listener = await lockListener(tx, ctx, path.listener_id)
    const { id } = listener
    requireVersion(raw.ifMatch, 'Listener', id, listener)
    await refuseIfUsed(tx, id, `listener ID ${id}`)
    const keys = await tx.sql.apiKey.findMany({ where: { listenerId: id, revokedAt: null }, select: { id: true } })
    for (const key of keys) await markRevoked(tx, key, log)
    await forgetListener(tx, id)
    await tx.sql.listener.delete({ where: { id } })
    tx.emit({ ...log, type: 'listener.deleted', subjectId: id })
    return keys
  })
  for (const key of revoked) ctx.onKeyRevoked?.(key.id)
}
