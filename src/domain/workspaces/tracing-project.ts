/** Tracing projects: each deployment has the one of its name, which a deleted deployment may have left behind. */
import { randomUUID } from 'node:crypto'
import { actorOf } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'

/**
 * Sees to it that the workspace has a tracing project of that name, for a deployment that is made in this transaction. Returns
 * the id that it gets if it is made.
 */
export function findOrCreateTracingProject(ctx: RequestContext, tx: Tx, name: string): string {
  const id = randomUUID()
  const workspaceId = ctx.workspace.id
  let isMade = false
  tx.unit.project({
    id,
    workspaceId,
    name,
    made: () => {
      isMade = true
    },
  })
  tx.emit(() =>
    isMade ? { workspaceId, type: 'tracing_project.created', subjectId: id, actor: actorOf(ctx.actor) } : null,
  )
  return id
}

export async function deleteTracingProject(ctx: RequestContext, tx: Tx, id: string): Promise<void> {
  const { count } = await tx.sql.tracingProject.deleteMany({ where: { id, workspaceId: ctx.workspace.id } })
  if (count > 0)
    tx.emit({
      workspaceId: ctx.workspace.id,
      type: 'tracing_project.deleted',
      subjectId: id,
      actor: actorOf(ctx.actor),
    })
}
