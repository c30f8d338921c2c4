/**
 * Lists sessions, newest first: the caller's own, for admins all of the workspace and organization. Unused codes are not listed.
 */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import type { OffsetPage } from '../paging/paging.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import type { RequestContext } from '../transaction/context.ts'
import { resource } from '../transaction/resource.ts'
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

export const sessions = resource<SessionView>({
  name: 'Session',
  table: (sql) => sql.session,
  visible: visibleSessions,
  view: SESSION_VIEW,
})

export const listInput = z.object({ query: z.object(offsetQuery) })

export const listSessions = (ctx: RequestContext, raw: RawInput): Promise<OffsetPage<SessionView>> =>
  sessions.page(ctx, () => parse(listInput, raw).query)

/** The session of the call; null: the call has none. */
export async function currentSession(ctx: RequestContext): Promise<SessionView | null> {
  if (ctx.credential?.kind !== 'session') return null
  return ctx.db.session.findUnique({ where: { id: ctx.credential.sessionId }, ...SESSION_VIEW })
}
