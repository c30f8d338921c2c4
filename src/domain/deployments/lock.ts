/** The first lock of every write (design rule 4): the deployment's row, before its revisions and the event counter. */
import type { Deployment } from '../../generated/prisma/client.ts'
import type { RequestContext, Tx } from '../context.ts'
import { ConflictError, NotFoundError } from '../errors.ts'

/** Locks a deployment of the caller's workspace and reads it. Throws NotFoundError; torn-down ones are gone. */
export async function lockDeployment(tx: Tx, ctx: RequestContext, id: string): Promise<Deployment> {
  const locked = await tx.sql.$queryRaw<unknown[]>`
    SELECT 1 FROM deployments WHERE id = ${id}::uuid AND workspace_id = ${ctx.workspace.id}::uuid AND torn_down_at IS NULL
    FOR NO KEY UPDATE`
  if (locked.length === 0) throw new NotFoundError('Deployment', id)
  return tx.sql.deployment.findUniqueOrThrow({ where: { id } })
}

/** Throws ConflictError for a deployment that is being deleted: nothing may be written to it any more. */
export function refuseDeleted(deployment: Deployment): void {
  if (deployment.deletedAt) throw new ConflictError(`Deployment ID ${deployment.id} is being deleted.`)
}
