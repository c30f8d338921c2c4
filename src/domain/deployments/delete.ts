/**
 * Deletes deployments. The name is free at once; open revisions become INTERRUPTED; what runs is torn down by
 * its holder, and only then do reads answer 404.
 */
import { z } from 'zod'
import { DomainError, ForbiddenError } from '../errors/errors.ts'
import { type IfMatch, requireVersion } from '../errors/precondition.ts'
import { queryBool, uuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { deleted, notifyHolder } from '../repositories/deployment.ts'
import { type LockedDeployment, lockEvenTornDown } from '../repositories/locks.ts'
import { interrupt } from '../rollouts/plan.ts'
import { apply, readSituation, reconcile, settle } from '../rollouts/reconcile.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'
import { forItems, once, onceForItem } from '../transaction/once.ts'
import { explain } from '../values/explanation.ts'
import { deploymentPath } from '../values/shapes.ts'
import { deleteTracingProject } from '../workspaces/tracing-project.ts'

const options = {
  delete_tracing_project: queryBool.describe('Delete the tracing project of the same name too. Default: false.'),
  force: queryBool.describe(
    'Drop a deployment whose runtime cannot be torn down. Needs the role admin. Default: false.',
  ),
}

export const deleteInput = z.object({ path: deploymentPath, query: z.object(options) })

/** Asks for the deletion; a second call is a success that changes nothing. Role: deployer, `force`: admin. */
export async function deleteDeployment(ctx: RequestContext, raw: RawInput): Promise<void> {
  await once(ctx, raw, async (ctx, raw) => {
    requireRole(ctx, 'deployer')
    const { path, query } = parse(deleteInput, { query: {}, ...raw })
    await deleteOne(ctx, path.deployment_id, {
      deleteProject: query.delete_tracing_project ?? false,
      force: query.force ?? false,
      ifMatch: raw.ifMatch,
    })
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
    // a success too: the first answer may have got lost
    if (deployment.tornDownAt) return
    const alsoProject = how.deleteProject && deployment.tracingProjectId
    // what a repeat asks for is so already: the first answer may have got lost
    if (!deployment.deletedAt || how.force || alsoProject) requireVersion(how.ifMatch, 'Deployment', id, deployment)
    if (alsoProject) await deleteTracingProject(ctx, tx, alsoProject)
    const going = deployment.deletedAt ? deployment : await markDeleted(ctx, tx, deployment)
    if (how.force) await abandonRuntime(ctx, tx, going)
    else if (!deployment.deletedAt) await reconcile(ctx, tx, going)
  }
  // what was begun of it: it will be deleted when that is looked at
  await lockEvenTornDown(ctx, id, work, { begun: true })
}

async function markDeleted(ctx: RequestContext, tx: Tx, deployment: LockedDeployment): Promise<LockedDeployment> {
  const actor = actorOf(ctx.actor)
  const before = await readSituation(ctx, tx, deployment)
  const over = await apply(ctx, tx, before, interrupt(before.state.open, explain('DEPLOYMENT_DELETED', {})), actor)
  const next = deleted(tx, over.deployment, actor)
  tx.emit({ workspaceId: next.workspaceId, type: 'deployment.deleted', deploymentId: next.id, actor })
  return notifyHolder(tx, next)
}

/** Gives up on the runtime: whatever is left there is left, and a holder that still works there loses its claim. */
async function abandonRuntime(ctx: RequestContext, tx: Tx, deployment: LockedDeployment): Promise<void> {
  const now = await readSituation(ctx, tx, deployment)
  // of what was never begun nothing is given up: the plan says that it is torn down, as it does without force
  await settle(ctx, tx, now, now.state.stepsTaken > 0 ? [{ do: 'torn down' }] : [], actorOf(ctx.actor))
}

function requireForce(ctx: RequestContext): void {
  if (ctx.actor.role !== 'admin')
    throw new ForbiddenError(`force needs the role admin; the credential has the role ${ctx.actor.role}.`)
}
