/** Lists the API keys that are valid in the workspace: its own and the organization-wide ones, newest first. */
import type { Prisma } from '../../generated/prisma/client.ts'
import { newestFirst } from '../paging/newest-first.ts'
import { cut, type Slice, type Window } from '../paging/paging.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'

export function visibleKeys(ctx: RequestContext): Prisma.ApiKeyWhereInput {
  const { id, organizationId } = ctx.workspace
  return { organizationId, OR: [{ workspaceId: id }, { workspaceId: null }] }
}

/** Includes revoked and expired keys. Role: admin. */
export async function windowKeys(ctx: RequestContext, window: Window): Promise<Slice<KeyView>> {
  requireRole(ctx, 'admin')
  const { keyset, ...page } = newestFirst(window)
  const where = { AND: [visibleKeys(ctx), keyset] }
  return cut(window, await ctx.db.apiKey.findMany({ where, ...page, omit: WITHOUT_HASH }))
}

export async function countKeys(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'admin')
  return ctx.db.apiKey.count({ where: visibleKeys(ctx) })
}

/** The key of the call or of its session; null: neither has one. */
export async function ownKey({ actor, db }: RequestContext): Promise<KeyView | null> {
  if (actor.kind !== 'api_key') return null
  return db.apiKey.findUnique({ where: { id: actor.subject }, omit: WITHOUT_HASH })
}
