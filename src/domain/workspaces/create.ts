/** Creates workspaces, for the API, the bootstrap and the command line. */
import { z } from 'zod'
import type { Workspace } from '../../generated/prisma/client.ts'
import { ConflictError, ForbiddenError } from '../errors/errors.ts'
import { printableName } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { toChange } from '../repositories/locks.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import type { ActorRef } from '../values/event-actor.ts'

export const createInput = z.object({
  body: z
    .object({ name: printableName.describe('The name is unique in the organization.') })
    .meta({ id: 'WorkspaceCreate' }),
})

/**
 * The operator grants the repositories below GIT_DIRECTORY (`npm run cli -- workspaces create --git-directory`). A workspace
 * credential could not act in the new workspace. Throws ConflictError (ALREADY_EXISTS).
 */
export const createWorkspace = writeVerb<Workspace>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  if (ctx.actor.workspaceId !== null)
    throw new ForbiddenError('Only an organization-wide credential can create a workspace.')
  const { body } = parse(createInput, raw)
  const { organizationId } = ctx.actor
  return transaction(ctx, async (tx) => {
    const made = { organizationId, name: body.name, directoryIntegration: false, actor: actorOf(ctx.actor) }
    return read(tx, await insertWorkspace(tx, made))
  })
})

interface NewWorkspace {
  organizationId: string
  name: string
  /** grants the repositories below the server's GIT_DIRECTORY */
  directoryIntegration: boolean
  /** author of the events; absent: the system */
  actor?: ActorRef
}

/** Throws ConflictError for an existing name. There is no unique index, because older installations have duplicates. */
export async function insertWorkspace(
  tx: Tx,
  { organizationId, name, directoryIntegration, actor }: NewWorkspace,
): Promise<Workspace> {
  await tx.sql.$queryRaw`SELECT 1 FROM organizations WHERE id = ${organizationId}::uuid ${toChange('organizations')}`
  if ((await tx.sql.workspace.count({ where: { organizationId, name } })) > 0)
    throw new ConflictError(`A workspace named '${name}' already exists in this organization.`, 'ALREADY_EXISTS')
  const workspace = await tx.sql.workspace.create({ data: { organizationId, name, eventCounter: { create: {} } } })
  tx.emit({ workspaceId: workspace.id, type: 'workspace.created', actor })
  if (directoryIntegration) {
    const data = { workspaceId: workspace.id, kind: 'directory', name: 'directory' } as const
    const { id: subjectId } = await tx.sql.integration.create({ data })
    tx.emit({ workspaceId: workspace.id, type: 'integration.created', subjectId, actor })
  }
  return workspace
}
