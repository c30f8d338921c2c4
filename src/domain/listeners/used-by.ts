/** The deployments that use a listener: all that are not torn down yet, also those being deleted (docs/protocol.md). */
import type { Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment, requireRole } from '../context/access.ts'
import type { RequestContext, Tx } from '../context/context.ts'
import { ConflictError } from '../core/errors.ts'
import { newestFirst } from '../core/newest-first.ts'
import type { Window } from '../core/paging.ts'

/** deployments that the message names */
const NAMED = 5

/** Throws ConflictError if there are any, saying how many use `what` and which. `where`: further conditions. */
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
    take: NAMED,
  })
  const names = first.map(({ name, deletedAt }) => (deletedAt ? `'${name}' (being deleted)` : `'${name}'`))
  const more = count > NAMED ? ` and ${count - NAMED} more` : ''
  throw new ConflictError(
    `${count === 1 ? '1 deployment uses' : `${count} deployments use`} ${what}: ${names.join(', ')}${more}. ` +
      'Delete them first, and wait until they are torn down.',
  )
}

/** A window of them as a nested selection of a listener, newest first. */
export function deploymentsWindow(window: Window) {
  const { keyset, ...page } = newestFirst(window)
  return { where: { tornDownAt: null, ...keyset } satisfies Prisma.DeploymentWhereInput, ...page }
}

/** How many each listener has; listeners without any are not in the map. One statement. Role: viewer. */
export async function countDeploymentsOf(
  ctx: RequestContext,
  listenerIds: readonly string[],
): Promise<Map<string, number>> {
  requireRole(ctx, 'viewer')
  const groups = await ctx.db.deployment.groupBy({
    by: ['listenerId'],
    where: { listenerId: { in: [...listenerIds] }, ...liveDeployment(ctx) },
    _count: true,
  })
  return new Map(groups.map((group) => [group.listenerId!, group._count]))
}
