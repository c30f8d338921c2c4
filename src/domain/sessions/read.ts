/**
 * Lists sessions, newest first: the caller's own, for admins all of the workspace and organization. Unused codes are not listed.
 */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { newestFirst } from '../paging/newest-first.ts'
import { cut, type OffsetPage, type Slice, type Window } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { offsetQuery } from '../values/shapes.ts'
import { SESSION_VIEW, type SessionView } from './session.ts'

export function visibleSessions({
  actor,
  workspace,
}: Pick<RequestContext, 'actor' | 'workspace'>): Prisma.SessionWhereInput {
  const { id, organizationId } = workspace
  const own = { kind: actor.kind, subject: actor.subject }
  return {
    organizationId,
    openedAt: { not: null },
    OR: [{ workspaceId: id }, { workspaceId: null }],
    ...(actor.role === 'admin' ? {} : own),
  }
}

export const listInput = z.object({ query: z.object(offsetQuery) })

export async function listSessions(ctx: RequestContext, raw: RawInput): Promise<OffsetPage<SessionView>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(listInput, raw)
  const resources = await ctx.db.session.findMany({
    where: visibleSessions(ctx),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: query.limit,
    skip: query.offset,
    ...SESSION_VIEW,
  })
  return { resources, offset: query.offset + resources.length }
}

export async function windowSessions(ctx: RequestContext, window: Window): Promise<Slice<SessionView>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  return cut(
    window,
    await ctx.db.session.findMany({ where: { AND: [visibleSessions(ctx), keyset] }, ...page, ...SESSION_VIEW }),
  )
}

export async function countSessions(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.session.count({ where: visibleSessions(ctx) })
}

/** The session of the call; null: the call has none. */
export async function currentSession(ctx: RequestContext): Promise<SessionView | null> {
  if (ctx.credential?.kind !== 'session') return null
  return ctx.db.session.findUnique({ where: { id: ctx.credential.sessionId }, ...SESSION_VIEW })
}
