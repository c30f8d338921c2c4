/** PATCH of a listener: `version` and `compute_config`. An absent or null member keeps the stored value. */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { rejectIfAny } from '../errors/errors.ts'
import { requireVersion } from '../errors/precondition.ts'
import { changedFields } from '../parsing/changed-fields.ts'
import { parse } from '../parsing/parse.ts'
import { lockListener } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { configViolations, immutableViolations } from './rules.ts'
import { listenerPath, updateBody } from './schemas.ts'
import { refuseIfUsed } from './used-by.ts'

export const updateInput = z.object({ path: listenerPath, body: updateBody })

/**
 * A call without changes writes no event. Returns the row, or the result of `read` in the same transaction. Role: admin. Throws
 * ForbiddenError (also for the plan), ValidationError, NotFoundError; ConflictError for a removed namespace that a deployment
 * uses.
 */
export const updateListener = writeVerb<Listener>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  requireListenerPlan(ctx)
  const { path, body } = parse(updateInput, raw)
  return transaction(ctx, async (tx) => {
    const listener = await lockListener(tx, ctx, path.listener_id)
    requireVersion(raw.ifMatch, 'Listener', listener.id, listener)
    rejectIfAny([
      ...immutableViolations(listener, body),
      ...configViolations(listener.computeType, body.compute_config),
    ])
    const namespaces = body.compute_config?.k8s_namespaces
    if (namespaces != null) await refuseRemovingUsed(tx, listener, namespaces)
    const changes = { k8sNamespaces: namespaces ?? undefined, version: body.version ?? undefined }
    const changed = changedFields(listener, changes)
    if (changed.length === 0) return read(tx, listener)
    const data = { ...changes, editVersion: { increment: 1 }, updatedAt: tx.now() }
    const updated = await tx.sql.listener.update({ where: { id: listener.id }, data })
    const { workspaceId, id: subjectId } = listener
    tx.emit({ workspaceId, type: 'listener.updated', changed, subjectId, actor: actorOf(ctx.actor) })
    return read(tx, updated)
  })
})

async function refuseRemovingUsed(tx: Tx, listener: Listener, kept: readonly string[]): Promise<void> {
  const k8sNamespace = { in: listener.k8sNamespaces.filter((one) => !kept.includes(one)) }
  const used = await tx.sql.deployment.findMany({
    where: { listenerId: listener.id, tornDownAt: null, k8sNamespace },
    select: { k8sNamespace: true },
    distinct: ['k8sNamespace'],
  })
  if (used.length === 0) return
  const names = used.map((deployment) => `'${deployment.k8sNamespace}'`).sort()
  const what = `${names.length === 1 ? 'namespace' : 'namespaces'} ${names.join(', ')}, which would be removed`
  await refuseIfUsed(tx, listener.id, what, { k8sNamespace })
}
