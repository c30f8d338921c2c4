/** The deployments of a listener: all that are not torn down, including those in deletion (docs/protocol.md). */
import { Prisma } from '../../generated/prisma/client.ts'
import { ConflictError } from '../errors/errors.ts'
import { type Total, totalsOf } from '../paging/total.ts'
import { requireRole } from '../transaction/access.ts'
import type { ReadContext, Tx } from '../transaction/context.ts'

/** Deployments that the message names. */
const MAX_NAMED = 5

/** Throws ConflictError with number and names of the deployments that use `what`. `where`: further conditions. */
export async function refuseIfUsed(
  tx: Tx,
  listenerId: string,
  what: string,
  where: Prisma.DeploymentWhereInput = {},
): Promise<void> {
  const used = { ...where, listenerId, tornDownAt: null }
  const count = await tx.sql.deployment.count({ where: used })
  if (count === 0) return
  const first = await tx.sql.deployment.findMany({
    where: used,
    select: { name: true, deletedAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    take: MAX_NAMED,
  })
  const names = first.map(({ name, deletedAt }) => (deletedAt ? `'${name}' (being deleted)` : `'${name}'`))
  const more = count > MAX_NAMED ? ` and ${count - MAX_NAMED} more` : ''
  throw new ConflictError(
    `${count === 1 ? '1 deployment uses' : `${count} deployments use`} ${what}: ${names.join(', ')}${more}. ` +
      'Delete them first, and wait until they are torn down.',
  )
}

/** Deployments of each listener. One statement. Role: viewer. */
export async function countDeploymentsOf(
  ctx: ReadContext,
  listenerIds: readonly string[],
): Promise<Map<string, Total>> {
  requireRole(ctx, 'viewer')
  return totalsOf(
    ctx.db,
    listenerIds,
    (id) => Prisma.sql`
      SELECT FROM deployments d
      WHERE d.workspace_id = ${ctx.workspace.id}::uuid AND d.listener_id = ${id} AND d.torn_down_at IS NULL`,
  )
}
