/** Creates a workspace in the caller's organization. */
import { z } from 'zod'
import type { Workspace } from '../../generated/prisma/client.ts'
import { ForbiddenError } from '../errors/errors.ts'
import { printableName } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import { insertWorkspace } from './insert-workspace.ts'

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
