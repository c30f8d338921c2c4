/** The deployments that use a listener: all that are not torn down yet, those that are being deleted too (contract 7). */
import type { Prisma } from '../../generated/prisma/client.ts'
import { liveDeployment, requireRole } from '../access.ts'
import type { RequestContext, Tx } from '../context.ts'
import { ConflictError } from '../errors.ts'
import { newestFirst } from '../newest-first.ts'
import type { Window } from '../page.ts'

/** So many are named in the message. */
const NAMED = 5

/** Throws ConflictError if there are any: how many use `what`, and which. `where`: only these of the listener's. */
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

/** What a window of them asks of the database, as a nested selection of listeners; newest first. */
export function usersWindow(window: Window) {
  const { keyset, ...page } = newestFirst(window)
  return { where: { tornDownAt: null, ...keyset } satisfies Prisma.DeploymentWhereInput, ...page }
}

/** How many each listener has; those without any are not in the map. One statement. Role: viewer. */
export async function countUsers(ctx: RequestContext, listenerIds: readonly string[]): Promise<Map<string, number>> {
  requireRole(ctx, 'viewer')
  const groups = await ctx.db.deployment.groupBy({
    by: ['listenerId'],
    where: { listenerId: { in: [...listenerIds] }, ...liveDeployment(ctx) },
    _count: true,
  })
  return new Map(groups.map((group) => [group.listenerId!, group._count]))
}
