/** Reads listeners: one, a page by offset (REST) or a window by cursor (GraphQL), newest first. All check the plan. */
import { z } from 'zod'
import type { Listener } from '../../generated/prisma/client.ts'
import { NotFoundError } from '../errors/errors.ts'
import { newestFirst } from '../paging/newest-first.ts'
import { cut, type OffsetPage, type Slice, type Window } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole, tenant } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type Selection, writtenRow } from '../transaction/read-back.ts'
import { offsetQuery } from '../values/shapes.ts'
import { requireListenerPlan } from './plan-entitlement.ts'
import { listenerPath } from './schemas.ts'

export const getInput = z.object({ path: listenerPath })

export async function getListener(ctx: RequestContext, raw: RawInput, query: Selection = {}): Promise<Listener> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { path } = parse(getInput, raw)
  const found = await ctx.db.listener.findFirst({ ...query, where: { id: path.listener_id, ...tenant(ctx) } })
  if (!found) throw new NotFoundError('Listener', path.listener_id)
  return found
}

export const selectWritten = writtenRow((sql) => sql.listener)

export const listInput = z.object({ query: z.object(offsetQuery) })

export async function listListeners(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<Listener>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { query } = parse(listInput, raw)
  const resources = await ctx.db.listener.findMany({
    where: tenant(ctx),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: query.limit,
    skip: query.offset,
  })
  return { resources, offset: query.offset + resources.length }
}

export async function windowListeners(ctx: RequestContext, window: Window, query: Selection): Promise<Slice<Listener>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { keyset, ...page } = newestFirst(window)
  return cut(window, await ctx.db.listener.findMany({ ...query, where: { ...tenant(ctx), ...keyset }, ...page }))
}

export async function countListeners(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return ctx.db.listener.count({ where: tenant(ctx) })
}
