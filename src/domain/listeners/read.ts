/** Reads listeners: one, or a window of the workspace's. Only for organizations whose plan has listeners (contract 2). */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { ForbiddenError, NotFoundError } from '../errors.ts'
import { uuid } from '../fields.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'

/** Throws ForbiddenError unless the organization's plan has listeners. */
function requireListenerPlan(ctx: RequestContext): void {
  if (ctx.workspace.plan === 'self_hosted_enterprise') return
  throw new ForbiddenError(
    `Listeners cannot be created for workspace ID '${ctx.workspace.id}'. ` +
      'Creating listeners is only allowed for organizations with self-hosted enterprise plans.',
    'PLAN_REQUIRED',
  )
}

const getListenerInput = z.object({ path: z.object({ listener_id: uuid }) })

/** Role: viewer. Throws NotFoundError. */
export async function getListener(ctx: RequestContext, raw: RawInput): Promise<Listener> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { path } = parse(getListenerInput, raw)
  const found = await ctx.db.listener.findFirst({ where: { id: path.listener_id, ...tenant(ctx) } })
  if (!found) throw new NotFoundError('Listener', path.listener_id)
  return found
}

/** Newest first. Role: viewer. */
export async function windowListeners(ctx: RequestContext, window: Window): Promise<Slice<Listener>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { keyset, ...page } = newestFirst(window)
  return cut(window, await ctx.db.listener.findMany({ where: { ...tenant(ctx), ...keyset }, ...page }))
}

/** Role: viewer. */
export async function countListeners(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return ctx.db.listener.count({ where: tenant(ctx) })
}
