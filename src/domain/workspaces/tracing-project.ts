/** Tracing projects. A deployment uses the project of its name, which may be left from a deleted deployment. */
import { randomUUID } from 'node:crypto'
import { actorOf } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'

/** Ensures a project of that name, for a new deployment. Returns the id that a new project gets. */
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
