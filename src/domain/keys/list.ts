/** Lists API keys: those of the workspace and the organization-wide ones, which are valid in it too. Newest first. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'

/** The keys that can act in the caller's workspace. */
export function visibleKeys(ctx: RequestContext): Prisma.ApiKeyWhereInput {
  const { id, organizationId } = ctx.workspace
  return { organizationId, OR: [{ workspaceId: id }, { workspaceId: null }] }
}

/** A window of the list, revoked and expired ones included. Role: admin. */
export async function windowKeys(ctx: RequestContext, window: Window): Promise<Slice<KeyView>> {
  requireRole(ctx, 'admin')
  const { keyset, ...page } = newestFirst(window)
  const where = { AND: [visibleKeys(ctx), keyset] }
  return cut(window, await ctx.db.apiKey.findMany({ where, ...page, omit: WITHOUT_HASH }))
}

/** Role: admin. */
export async function countKeys(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'admin')
  return ctx.db.apiKey.count({ where: visibleKeys(ctx) })
}
