/** Reads the tags of a workspace. Their ids are what the filter `tag_value_ids` names. */
import type { Tag } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'

/** Newest first. Role: viewer. */
export async function windowTags(ctx: RequestContext, window: Window): Promise<Slice<Tag>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  return cut(window, await ctx.db.tag.findMany({ where: { ...tenant(ctx), ...keyset }, ...page }))
}

/** Role: viewer. */
export async function countTags(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.tag.count({ where: tenant(ctx) })
}
