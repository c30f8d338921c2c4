/** Lists the deployments that changed since a cursor, for clients that poll instead of keeping a stream open. */
import { z } from 'zod'
import { NotFoundError } from '../errors/errors.ts'
import { queryText, queryUuid } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { changeCursor, readChangeCursor, readChangesSnapshot, readDeploymentChanges, refuseMissing } from './log.ts'

export const changesInput = z.object({
  query: z.object({
    after: queryText.describe('The `cursor` of an answer, or of a message of a stream.'),
    deployment_id: queryUuid.describe('Only of this deployment.'),
  }),
})

export interface DeploymentsChange {
  /** an `after` that goes on behind it */
  cursor: string
  /** none: nothing has changed, or it is where who asks without `after` begins */
  deploymentIds: readonly string[]
}

/** Parts of an answer, of some hundred deployments each; whoever was away for longer asks again. */
const MAX_PARTS = 10

/** Role: viewer. Throws ValidationError, also for a cursor that is too old, and NotFoundError. Two statements; without `after` one. */
export async function listDeploymentChanges(ctx: RequestContext, raw: RawInput): Promise<DeploymentsChange> {
  requireRole(ctx, 'viewer')
  const { after: cursor, deployment_id: deploymentId } = parse(changesInput, raw).query
  const workspaceId = ctx.workspace.id
  const { sequence: end, removed, there } = await readChangesSnapshot(ctx.db, workspaceId, deploymentId)
  if (!there) throw new NotFoundError('Deployment', deploymentId!)
  if (cursor === undefined) return { cursor: changeCursor({ workspaceId, sequence: end }), deploymentIds: [] }
  const after = readChangeCursor(ctx, cursor, end)
  refuseMissing(after, removed)
  const scope = deploymentId === undefined ? {} : { deploymentId }
  const parts = await readDeploymentChanges(ctx.db, workspaceId, after, MAX_PARTS, scope)
  // what was placed up to the end is in the parts, which were read later
  const sequence = parts.at(-1)?.sequence ?? end
  return { cursor: changeCursor({ workspaceId, sequence }), deploymentIds: parts.flatMap((part) => part.deploymentIds) }
}
