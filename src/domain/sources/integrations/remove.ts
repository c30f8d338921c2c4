/** Removes an `app` integration from its workspace. The app stays installed at the git provider. */
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type RequestContext, transaction } from '../../transaction/context.ts'
import { once } from '../../transaction/once.ts'
import { liveIntegration } from './find.ts'

export const removeInput = z.object({ path: z.object({ integration_id: uuid }) })

/** Its deployments keep running, but can't be built. Throws NotFoundError; ConflictError for the server's own directory. */
export const removeIntegration = (ctx: RequestContext, raw: RawInput): Promise<void> => once(ctx, raw, remove)

async function remove(ctx: RequestContext, raw: RawInput): Promise<void> {
  requireRole(ctx, 'admin')
  const { path } = parse(removeInput, raw)
  const where = { id: path.integration_id, ...liveIntegration(ctx) }
  await transaction(ctx, async (tx) => {
    const found = await tx.sql.integration.findFirst({ where })
    if (found?.kind === 'directory')
      throw new ConflictError('This is the server’s own folder of repositories; it can’t be removed.')
    const { count } = await tx.sql.integration.updateMany({ where, data: { removedAt: tx.now() } })
    if (count === 0) throw new NotFoundError('Integration', path.integration_id)
    tx.emit({
      workspaceId: ctx.workspace.id,
      type: 'integration.removed',
      subjectId: path.integration_id,
      actor: actorOf(ctx.actor),
    })
  })
}
