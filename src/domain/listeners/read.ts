/** Reads listeners: one, a page by offset (REST), a window by cursor (GraphQL). Newest first. Only where the plan has them. */
import { z } from 'zod'
import type { Listener, Prisma } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext, Sql } from '../context.ts'
import { offsetQuery } from '../deployments/schemas.ts'
import { NotFoundError } from '../errors.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type OffsetPage, type Slice, type Window } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import { requireListenerPlan } from './plan.ts'
import { listenerPath } from './schemas.ts'

/** Prisma's part of a GraphQL selection. */
interface Selection {
  include?: Prisma.ListenerInclude
  select?: Prisma.ListenerSelect
}

export const getInput = z.object({ path: listenerPath })

/** Role: viewer. Throws NotFoundError. */
export async function getListener(ctx: RequestContext, raw: RawInput): Promise<Listener> {
  return selectListener(ctx, raw, {})
}

/** For GraphQL: the same with the selection's own part. Role: viewer. Throws NotFoundError. */
export async function selectListener<Q extends Selection>(
  ctx: RequestContext,
  raw: RawInput,
  query: Q,
): Promise<Prisma.ListenerGetPayload<Q>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { path } = parse(getInput, raw)
  const found = await ctx.db.listener.findFirst({ ...query, where: { id: path.listener_id, ...tenant(ctx) } })
  if (!found) throw new NotFoundError('Listener', path.listener_id)
  return found as Prisma.ListenerGetPayload<Q>
}

/** What a write has left, in its transaction, with the selection's own part. */
export async function selectWritten<Q extends Selection>(
  sql: Sql,
  id: string,
  query: Q,
): Promise<Prisma.ListenerGetPayload<Q>> {
  return (await sql.listener.findUniqueOrThrow({ ...query, where: { id } })) as Prisma.ListenerGetPayload<Q>
}

export const listInput = z.object({ query: z.object(offsetQuery) })

/** An offset page. Role: viewer. */
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

/** A window of the list for GraphQL. `query` is the selection's own part. Role: viewer. */
export async function windowListeners<Q extends Selection>(
  ctx: RequestContext,
  window: Window,
  query: Q,
): Promise<Slice<Prisma.ListenerGetPayload<Q>>> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  const { keyset, ...page } = newestFirst(window)
  const found = await ctx.db.listener.findMany({ ...query, where: { ...tenant(ctx), ...keyset }, ...page })
  return cut(window, found as Prisma.ListenerGetPayload<Q>[])
}

/** Role: viewer. */
export async function countListeners(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  requireListenerPlan(ctx)
  return ctx.db.listener.count({ where: tenant(ctx) })
}
