/**
 * Deletes deployments. The name is free at once; open revisions become INTERRUPTED; what runs is torn down by
 * its holder, and only then do reads answer 404.
 */
import { z } from 'zod'
import type { Deployment } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { because } from '../because.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { DomainError, ForbiddenError } from '../errors.ts'
import { queryBool, uuid } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { OPEN } from '../revisions/lifecycle.ts'
import { transition } from '../revisions/transition.ts'
import { advance } from '../work/advance.ts'
import { NO_LEASE } from '../work/lease.ts'
import { cancelStepOf, touch } from '../work/steps.ts'
import { NOTHING_WAITS } from '../work/waits-for.ts'
import { deleteTracingProject } from '../workspaces/tracing-project.ts'
import { lockDeployment } from './lock.ts'
import { deploymentPath } from './schemas.ts'

const options = {
  delete_tracing_project: queryBool.describe('Delete the tracing project of the same name too. Default: false.'),
  force: queryBool.describe(
    'Drop a deployment whose runtime cannot be torn down. Needs the role admin. Default: false.',
  ),
}

export const deleteInput = z.object({ path: deploymentPath, query: z.object(options) })

/** Asks for the deletion; a second call is a success that changes nothing. Role: deployer, `force`: admin. */
export async function deleteDeployment(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'deployer')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  await deleteOne(ctx, path.deployment_id, {
    deleteProject: query.delete_tracing_project ?? false,
    force: query.force ?? false,
  })
}

export const bulkDeleteInput = z.object({
  query: z.object({
    ...options,
    deployment_ids: z
      .preprocess((raw) => (raw === undefined || Array.isArray(raw) ? raw : [raw]), z.array(uuid).min(1).max(100))
      .describe('Which ones: `deployment_ids=…&deployment_ids=…`.'),
  }),
})

export interface BulkResult {
  deploymentId: string
  /** what a single DELETE would have answered: 204, 404, … */
  status: number
  /** why it failed, null when it did not */
  detail: string | null
}

/** Deletes up to 100, each in a transaction of its own, and says of each what came of it. Role: deployer. */
export async function deleteDeployments(ctx: RequestContext, raw: RawInput): Promise<BulkResult[]> {
  requireRole(ctx, 'deployer')
  const { query } = parse(bulkDeleteInput, raw)
  if (query.force) requireForce(ctx)
  const results: BulkResult[] = []
  for (const id of new Set(query.deployment_ids)) {
    try {
      await deleteOne(ctx, id, { deleteProject: query.delete_tracing_project ?? false, force: query.force ?? false })
      results.push({ deploymentId: id, status: 204, detail: null })
    } catch (error) {
      if (!(error instanceof DomainError)) throw error
      results.push({ deploymentId: id, status: error.status, detail: error.message })
    }
  }
  return results
}

interface HowToDelete {
  deleteProject: boolean
  force: boolean
}

async function deleteOne(ctx: RequestContext, id: string, how: HowToDelete): Promise<void> {
  if (how.force) requireForce(ctx)
  await transaction(
    ctx,
    async (tx) => {
      if (await isTornDown(ctx, tx, id)) return
      const deployment = await lockDeployment(tx, ctx, id)
      if (how.deleteProject && deployment.tracingProjectId)
        await deleteTracingProject(ctx, tx, deployment.tracingProjectId)
      if (!deployment.deletedAt) {
        await interruptAll(ctx, tx, deployment)
        const deletedAt = tx.now()
        await tx.sql.deployment.update({
          where: { id },
          data: { deletedAt, updatedAt: deletedAt, activeRevisionId: null },
        })
        Object.assign(deployment, { deletedAt, activeRevisionId: null })
        tx.emit({
          workspaceId: deployment.workspaceId,
          type: 'deployment.deleted',
          deploymentId: id,
          actor: ctx.actor.subject,
        })
        await touch(tx, deployment)
        await advance(ctx, tx, deployment)
      }
      if (how.force) await drop(ctx, tx, deployment)
    },
    { deployment: id },
  )
}

/** Deleting what is gone already is a success too: the caller may just not have heard the first answer. */
async function isTornDown(ctx: RequestContext, tx: Tx, id: string): Promise<boolean> {
  const [row] = await tx.sql.$queryRaw<{ gone: boolean }[]>`
    SELECT torn_down_at IS NOT NULL AS gone FROM deployments
    WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid FOR NO KEY UPDATE`
  return row?.gone ?? false
}

async function interruptAll(ctx: RequestContext, tx: Tx, deployment: Deployment): Promise<void> {
  const open = await tx.sql.revision.findMany({
    where: { deploymentId: deployment.id, status: { in: [...OPEN] } },
    orderBy: { rollout: 'asc' },
  })
  for (const revision of open) {
    await cancelStepOf(tx, deployment, revision.id)
    await transition(tx, deployment.workspaceId, revision, {
      to: 'INTERRUPTED',
      because: because('DEPLOYMENT_DELETED', {}),
      actor: ctx.actor.subject,
    })
  }
}

function requireForce(ctx: RequestContext): void {
  if (ctx.actor.role !== 'admin')
    throw new ForbiddenError(`force needs the role admin; the credential has the role ${ctx.actor.role}.`)
}

/** Gives up on the runtime: whatever is left there is left, and a holder that still works there is told that its claim is lost. */
async function drop(ctx: RequestContext, tx: Tx, { id, listenerId }: Deployment): Promise<void> {
  const { count } = await tx.sql.deployment.updateMany({
    where: { id, tornDownAt: null },
    data: { tornDownAt: tx.now(), ...NOTHING_WAITS, ...NO_LEASE },
  })
  if (count === 0) return
  tx.wakeWorkers(listenerId)
  await tx.sql.step.updateMany({
    where: { deploymentId: id, finishedAt: null },
    data: { finishedAt: tx.now(), outcome: 'cancelled' },
  })
  tx.emit({ workspaceId: ctx.workspace.id, type: 'deployment.torn_down', deploymentId: id, actor: ctx.actor.subject })
}
