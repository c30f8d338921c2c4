/** Tracing projects: each deployment has the one of its name, which a deleted deployment may have left behind. */
import { actorOf } from '../context/access.ts'
import type { RequestContext, Tx } from '../context/context.ts'

/** Returns the id of the workspace's tracing project of that name; creates it if necessary. */
export async function findOrCreateTracingProject(ctx: RequestContext, tx: Tx, name: string): Promise<string> {
  const key = { workspaceId: ctx.workspace.id, name }
  const { count } = await tx.sql.tracingProject.createMany({ data: [key], skipDuplicates: true })
  const { id } = await tx.sql.tracingProject.findUniqueOrThrow({
    where: { workspaceId_name: key },
    select: { id: true },
  })
  if (count > 0)
    tx.emit({ workspaceId: key.workspaceId, type: 'tracing_project.created', subjectId: id, actor: actorOf(ctx.actor) })
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
