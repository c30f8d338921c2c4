/** Lists the connections of an agent, or of all agents, to the caller's own tokens: all (REST) or a window by cursor (GraphQL), newest first. */
import { z } from 'zod'
import type { AgentConnection } from '../../../generated/prisma/client.ts'
import { newestFirst } from '../../paging/newest-first.ts'
import { cut, type Slice, type Window } from '../../paging/paging.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { type Selection, writtenRow } from '../../transaction/read-back.ts'
import { agentId } from '../../values/oauth-token.ts'
import { agentPath, type ConnectionView, ownConnections, WITH_TOKEN } from './connection.ts'

export const listInput = z.object({ path: agentPath })
/** Without an agent: those of all of them. */
const windowInput = z.object({ path: z.object({ agent_id: agentId.nullish() }) })

/** All of them; empty for an unknown agent. One statement. Role: viewer. */
export async function listConnections(ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.agentConnection.findMany({
    where: listWhere(ctx, parse(listInput, raw)),
    include: WITH_TOKEN,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  })
}

/** A window of the list, for GraphQL. `query`: the selection. Role: viewer. */
export async function windowConnections(
  ctx: RequestContext,
  raw: RawInput,
  window: Window,
  query: Selection,
): Promise<Slice<AgentConnection>> {
  requireRole(ctx, 'viewer')
  const where = listWhere(ctx, parse(windowInput, raw))
  const { keyset, ...page } = newestFirst(window)
  return cut(window, await ctx.db.agentConnection.findMany({ ...query, where: { ...where, ...keyset }, ...page }))
}

/** Role: viewer. */
export async function countConnections(ctx: RequestContext, raw: RawInput): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.agentConnection.count({ where: listWhere(ctx, parse(windowInput, raw)) })
}

/** The where-clause of the list. */
const listWhere = (ctx: RequestContext, { path }: z.output<typeof windowInput>) => ({
  ...ownConnections(ctx),
  ...(path.agent_id == null ? {} : { agentId: path.agent_id }),
})

/** The row after a write, for GraphQL. */
export const selectWritten = writtenRow((sql) => sql.agentConnection)
