/**
 * Deletes deployments. The name becomes free immediately, and open revisions become INTERRUPTED. Reads answer 404 only after
 * the holder has torn the runtime down.
 */
import { z } from 'zod'
import { DomainError, ForbiddenError, type IfMatch, requireVersion } from '../errors/errors.ts'
import { queryBool, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { deleted, notifyHolder } from '../repositories/deployment.ts'
import { type LockedDeployment, lockEvenTornDown } from '../repositories/locks.ts'
import { interrupt } from '../rollouts/plan.ts'
import { apply, readSituation, reconcile, settle } from '../rollouts/reconcile.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from '../transaction/context.ts'
import { forItems, once, onceForItem } from '../transaction/once.ts'
import { explain } from '../values/explanation.ts'
import { deploymentPath } from '../values/shapes.ts'

const options = {
  delete_tracing_project: queryBool.describe('Also delete the tracing project of the same name. Default: false.'),
  force: queryBool.describe(
    'Delete the deployment even if its runtime cannot be torn down. Needs the role admin. Default: false.',
  ),
}

export const deleteInput = z.object({ path: deploymentPath, query: z.object(options) })

/** Marks the deployment as deleted. A second call succeeds and changes nothing. Role: deployer, for `force` admin. */
export const deleteDeployment = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'deployer')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  const how = { deleteProject: query.delete_tracing_project ?? false, force: query.force ?? false }
  await deleteOne(ctx, path.deployment_id, { ...how, ifMatch: raw.ifMatch })
})

export const bulkDeleteInput = z.object({
  query: z.object({
    ...options,
    deployment_ids: z
      .preprocess((raw) => (raw === undefined || Array.isArray(raw) ? raw : [raw]), z.array(uuid).min(1).max(100))
      .describe('The deployments to delete: `deployment_ids=…&deployment_ids=…`.'),
  }),
})

export interface BulkResult {
  deploymentId: string
  /** the status of a single DELETE: 204, 404, … */
  status: number
  /** the error message; null: deleted */
  detail: string | null
}

/** Deletes up to 100 deployments, each in a separate transaction, and returns each result. Role: deployer. */
export async function deleteDeployments(ctx: RequestContext, raw: RawInput): Promise<BulkResult[]> {
  requireRole(ctx, 'deployer')
  const { query } = parse(bulkDeleteInput, forItems(ctx, raw))
  if (query.force) requireForce(ctx)
  const how = { deleteProject: query.delete_tracing_project ?? false, force: query.force ?? false }
  const results: BulkResult[] = []
  for (const [item, id] of [...new Set(query.deployment_ids)].entries()) {
    try {
      await onceForItem(ctx, item, (ctx) => deleteOne(ctx, id, how))
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
  ifMatch?: IfMatch
}

async function deleteOne(ctx: RequestContext, id: string, how: HowToDelete): Promise<void> {
  if (how.force) requireForce(ctx)
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    // success: the first answer may have been lost
    if (deployment.tornDownAt) return
    const alsoProject = how.deleteProject && deployment.tracingProjectId
    // a repeat needs no version, because it changes nothing
    if (!deployment.deletedAt || how.force || alsoProject) requireVersion(how.ifMatch, 'Deployment', id, deployment)
    if (alsoProject) await deleteTracingProject(ctx, tx, alsoProject)
    const going = deployment.deletedAt ? deployment : await markDeleted(ctx, tx, deployment)
    if (how.force) await abandonRuntime(ctx, tx, going)
    else if (!deployment.deletedAt) await reconcile(ctx, tx, going)
  }
  // the plan of a deleted deployment needs its taken steps
  await lockEvenTornDown(ctx, id, work, { withEndedSteps: true })
}

async function markDeleted(ctx: RequestContext, tx: Tx, deployment: LockedDeployment): Promise<LockedDeployment> {
  const actor = actorOf(ctx.actor)
  const before = await readSituation(ctx, tx, deployment)
  const over = await apply(ctx, tx, before, interrupt(before.state.open, explain('DEPLOYMENT_DELETED', {})), actor)
  const next = deleted(tx, over.deployment, actor)
  tx.emit({ workspaceId: next.workspaceId, type: 'deployment.deleted', deploymentId: next.id, actor })
  return notifyHolder(tx, next)
}

/** Drops the deployment although its runtime was not torn down. Its holder loses the claim. */
async function abandonRuntime(ctx: RequestContext, tx: Tx, deployment: LockedDeployment): Promise<void> {
  const now = await readSituation(ctx, tx, deployment)
  // without a taken step there is no runtime: the plan tears it down as usual
  await settle(ctx, tx, now, now.state.stepsTaken > 0 ? [{ do: 'torn down' }] : [], actorOf(ctx.actor))
}

function requireForce(ctx: ReadContext): void {
  if (ctx.actor.role !== 'admin')
    throw new ForbiddenError(`force needs the role admin; the credential has the role ${ctx.actor.role}.`)
}

async function deleteTracingProject(ctx: ReadContext, tx: Tx, id: string): Promise<void> {
  const workspaceId = ctx.workspace.id
  const { count } = await tx.sql.tracingProject.deleteMany({ where: { id, workspaceId } })
  if (count > 0) tx.emit({ workspaceId, type: 'tracing_project.deleted', subjectId: id, actor: actorOf(ctx.actor) })
}
