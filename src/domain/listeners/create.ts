/** Registers a listener: a compute infrastructure that will pull work for the deployments that name it (spec 2.7). */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { type RequestContext, transaction } from '../context.ts'
import { ConflictError, rejectIfAny } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { requireListenerPlan } from './plan.ts'
import { configViolations } from './rules.ts'
import { createBody } from './schemas.ts'

export const createInput = z.object({ body: createBody })

/**
 * Answers the row, or what `read` reads in its transaction. Role: admin. Throws ForbiddenError (also for the plan),
 * ValidationError, ConflictError (ALREADY_EXISTS).
 */
export function createListener(ctx: RequestContext, raw: RawInput): Promise<Listener>
export function createListener<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Listener, T>): Promise<T>
export async function createListener(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Listener, unknown> = asWritten,
): Promise<unknown> {
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
      // the unique index decides, also between two at once; what it refuses would end the transaction
      skipDuplicates: true,
    })
    if (!listener)
      throw new ConflictError(
        `Listener for workspace ID '${workspaceId}' and compute ID '${body.compute_id}' already exists.`,
        'ALREADY_EXISTS',
      )
    tx.emit({ workspaceId, type: 'listener.created', subjectId: listener.id, actor: ctx.actor.subject })
    return read(tx.sql, listener)
  })
}
