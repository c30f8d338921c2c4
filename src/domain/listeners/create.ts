/**
 * Registers a listener: a program in a customer's cluster that pulls work for its deployments (docs/deployments.md#listeners).
 */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { ConflictError, rejectIfAny } from '../errors/errors.ts'
import { parse } from '../parsing/parse.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { configViolations } from './rules.ts'
import { createBody } from './schemas.ts'

export const createInput = z.object({ body: createBody })

/**
 * Returns the row, or the result of `read` in the same transaction. Role: admin. Throws ForbiddenError (also for the plan),
 * ValidationError, ConflictError (ALREADY_EXISTS).
 */
export const createListener = writeVerb<Listener>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  requireListenerPlan(ctx)
  const { body } = parse(createInput, raw)
  rejectIfAny(configViolations(body.compute_type, body.compute_config))
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
