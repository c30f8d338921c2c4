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
  cursor: string
  /** empty: nothing changed, or the call had no `after` */
  deploymentIds: readonly string[]
}

/** Parts per answer, of some hundred deployments each. A client that was away for longer calls again. */
const MAX_PARTS = 10

/** Role: viewer. Throws ValidationError, also for an expired cursor, and NotFoundError. At most two statements. */
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
  // the parts were read after `end`, so they contain everything up to it
  const sequence = parts.at(-1)?.sequence ?? end
  return { cursor: changeCursor({ workspaceId, sequence }), deploymentIds: parts.flatMap((part) => part.deploymentIds) }
}
