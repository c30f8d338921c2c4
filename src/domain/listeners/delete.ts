/** Deletes a listener that no deployment uses any more, and revokes its keys with it. */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, transaction } from '../context.ts'
import { markRevoked } from '../keys/revoke.ts'
import { parse, type RawInput } from '../parse.ts'
import { lockListener } from './lock.ts'
import { requireListenerPlan } from './plan.ts'
import { listenerPath } from './schemas.ts'
import { refuseIfUsed } from './users.ts'

export const deleteInput = z.object({ path: listenerPath })

/** Role: admin. Throws ForbiddenError (also for the plan), NotFoundError; ConflictError while a deployment is not torn down. */
export async function deleteListener(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'admin')
  requireListenerPlan(ctx)
  const { path } = parse(deleteInput, raw)
  const log = { workspaceId: ctx.workspace.id, actor: ctx.actor.subject }
  const revoked = await transaction(ctx, async (tx) => {
    const { id } = await lockListener(tx, ctx, path.listener_id)
    await refuseIfUsed(tx, id, `listener ID ${id}`)
    const keys = await tx.sql.apiKey.findMany({ where: { listenerId: id, revokedAt: null }, select: { id: true } })
    for (const key of keys) await markRevoked(tx, key, log)
    // of deployments that are torn down only the rows are left, for a while
    await tx.sql.$executeRaw`UPDATE deployments SET listener_id = NULL WHERE listener_id = ${id}::uuid`
    await tx.sql.listener.delete({ where: { id } })
    tx.emit({ ...log, type: 'listener.deleted', subjectId: id })
    return keys
  })
  for (const key of revoked) ctx.onKeyRevoked?.(key.id)
}
