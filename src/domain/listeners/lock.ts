/**
 * The two locks of a listener's row. Who makes something that names the listener shares it, so that it can't go away,
 * or lose a namespace, before the commit; who changes or deletes it waits for all of those, and they for it. Neither
 * stands in the way of the data plane, which notes when the listener was last heard from.
 */
import type { Listener } from '../../generated/prisma/client.ts'
import { tenant } from '../access.ts'
import type { RequestContext, Tx } from '../context.ts'
import { NotFoundError } from '../errors.ts'

/** What is known of a listener whose row is shared. */
export type SharedListener = Pick<Listener, 'id' | 'k8sNamespaces'>

/** Keeps a listener of the workspace as it is until the commit. Throws NotFoundError. */
export async function shareListener(tx: Tx, workspaceId: string, id: string): Promise<SharedListener> {
  const [listener] = await tx.sql.$queryRaw<SharedListener[]>`
    SELECT id, k8s_namespaces AS "k8sNamespaces" FROM listeners
    WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid FOR KEY SHARE`
  if (!listener) throw new NotFoundError('Listener', id)
  return listener
}

/** Locks a listener of the caller's workspace and reads it. Throws NotFoundError. */
export async function lockListener(tx: Tx, ctx: RequestContext, id: string): Promise<Listener> {
  const locked = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM listeners WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid FOR UPDATE`
  if (locked.length === 0) throw new NotFoundError('Listener', id)
  return tx.sql.listener.findUniqueOrThrow({ where: { id, ...tenant(ctx) } })
}
