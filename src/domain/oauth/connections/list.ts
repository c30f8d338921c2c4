/** Lists connections to the caller's own tokens, newest first: all (REST) or a window by cursor (GraphQL). */
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
const windowInput = z.object({ path: z.object({ agent_id: agentId.nullish() }) })

export async function listConnections(ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.agentConnection.findMany({
    where: listWhere(ctx, parse(listInput, raw)),
    include: WITH_TOKEN,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  })
}

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

export async function countConnections(ctx: RequestContext, raw: RawInput): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.agentConnection.count({ where: listWhere(ctx, parse(windowInput, raw)) })
}

const listWhere = (ctx: RequestContext, { path }: z.output<typeof windowInput>) => ({
  ...ownConnections(ctx),
  ...(path.agent_id == null ? {} : { agentId: path.agent_id }),
})

export const selectWritten = writtenRow((sql) => sql.agentConnection)
