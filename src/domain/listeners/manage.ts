/** Registers, changes and deletes listeners: programs in customers' clusters that pull work (docs/deployments.md#listeners). */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { ConflictError, rejectIfAny, requireVersion, type Violation } from '../errors/errors.ts'
import { markRevoked } from '../keys/manage.ts'
import {
  changedFields,
  immutableViolations,
  parse,
  violation,
  violationUnless,
  whyImmutable,
} from '../parsing/parse.ts'
import { forgetListener } from '../repositories/deployment.ts'
import { lockListener } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type Tx, transaction } from '../transaction/context.ts'
import { once, writeVerb } from '../transaction/once.ts'
import { refuseIfUsed, requireListenerPlan } from './read.ts'
import { type ComputeConfig, createBody, listenerPath, updateBody } from './schemas.ts'

export const createInput = z.object({ body: createBody })

/**
 * Returns the row, or the result of `read` in the same transaction. Role: admin. Throws ForbiddenError (also for the plan),
 * ValidationError, ConflictError (ALREADY_EXISTS).
 */
export const createListener = writeVerb<Listener>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  requireListenerPlan(ctx)
  const { body } = parse(createInput, raw)
  rejectIfAny(configViolations(body.compute_config))
  const workspaceId = ctx.workspace.id
  return transaction(ctx, async (tx) => {
    const [listener] = await tx.sql.listener.createManyAndReturn({
      data: [
        {
          workspaceId,
          computeType: body.compute_type,
          computeId: body.compute_id,
          k8sNamespaces: body.compute_config.k8s_namespaces ?? [],
          version: body.version ?? null,
          createdBy: ctx.actor.subject,
        },
      ],
      // The unique index also decides between concurrent calls; its error would abort the transaction.
      skipDuplicates: true,
    })
    if (!listener)
      throw new ConflictError(
        `Listener for workspace ID '${workspaceId}' and compute ID '${body.compute_id}' already exists.`,
        'ALREADY_EXISTS',
      )
    tx.emit({ workspaceId, type: 'listener.created', subjectId: listener.id, actor: actorOf(ctx.actor) })
    return read(tx, listener)
  })
})

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
      ...immutableViolations(
        [
          ['compute_type', body.compute_type, listener.computeType],
          ['compute_id', body.compute_id, listener.computeId],
        ],
        whyImmutable,
      ),
      ...configViolations(body.compute_config),
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

export const deleteInput = z.object({ path: listenerPath })

/** Role: admin. Throws ForbiddenError (also for the plan), NotFoundError; ConflictError while a deployment is not torn down. */
export const deleteListener = once<void>(async (ctx, raw) => {
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
})

/** Name of a Kubernetes namespace. */
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const configViolations = (config: ComputeConfig | null | undefined): Violation[] =>
  (config?.k8s_namespaces ?? []).flatMap(namespaceViolations)

function namespaceViolations(name: string, i: number, all: readonly string[]): Violation[] {
  const field = `compute_config.k8s_namespaces.${i}`
  const isLabel = 'up to 63 lower-case letters, digits and hyphens, with no hyphen at either end.'
  if (!DNS_LABEL.test(name)) return [violation(field, `Must be a DNS-1123 label: ${isLabel}`)]
  return violationUnless(all.indexOf(name) === i, field, `The namespace ${name} occurs twice.`)
}
