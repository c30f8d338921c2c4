/** Lists the connections of an agent to the caller's own tokens: all (REST) or a window by cursor (GraphQL), newest first. */
import { z } from 'zod'
import type { AgentConnection } from '../../../generated/prisma/client.ts'
import { requireRole } from '../../context/access.ts'
import type { RequestContext } from '../../context/context.ts'
import { type Selection, writtenRow } from '../../context/read-back.ts'
import { newestFirst } from '../../core/newest-first.ts'
import { cut, type Slice, type Window } from '../../core/paging.ts'
import { parse, type RawInput } from '../../core/parse.ts'
import { agentPath, type ConnectionView, ownConnections, WITH_TOKEN } from './connection.ts'

export const listInput = z.object({ path: agentPath })

/** All of them; empty for an unknown agent. One statement. Role: viewer. */
export async function listConnections(ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> {
  return ctx.db.agentConnection.findMany({
    where: ofAgent(ctx, raw),
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
  const where = ofAgent(ctx, raw)
  const { keyset, ...page } = newestFirst(window)
  return cut(window, await ctx.db.agentConnection.findMany({ ...query, where: { ...where, ...keyset }, ...page }))
}

/** Role: viewer. */
export async function countConnections(ctx: RequestContext, raw: RawInput): Promise<number> {
  return ctx.db.agentConnection.count({ where: ofAgent(ctx, raw) })
}

/** Checks the role and the input, and returns the list's where-clause. */
function ofAgent(ctx: RequestContext, raw: RawInput) {
  requireRole(ctx, 'viewer')
  const { path } = parse(listInput, raw)
  return { ...ownConnections(ctx), agentId: path.agent_id }
}

/** The row after a write, for GraphQL. */
export const selectWritten = writtenRow((sql) => sql.agentConnection)
