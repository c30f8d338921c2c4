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
  body: z.object({ name: printableName.describe('Unique in the organization.') }).meta({ id: 'WorkspaceCreate' }),
})

/**
 * Returns the row, or what `read` reads in its transaction. It has no git integration yet: the repositories below the server's
 * GIT_DIRECTORY are given by who runs the server (`npm run cli -- workspaces create --git-directory`). Role: admin, with a
 * credential of the organization, since one of a workspace could not act in what it made. Throws ForbiddenError,
 * ValidationError, ConflictError (ALREADY_EXISTS).
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
