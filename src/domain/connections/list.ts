/**
 * Reads connections of an agent to the caller's own tokens: all of them (REST), a window by cursor (GraphQL). Newest
 * first.
 */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext, Sql } from '../context.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import { ownTokens } from '../tokens/own.ts'
import { agentPath } from './schemas.ts'
import { type ConnectionView, WITH_TOKEN } from './view.ts'

/** Prisma's part of a GraphQL selection. */
interface Selection {
  include?: Prisma.AgentLinkInclude
  select?: Prisma.AgentLinkSelect
}

/** The boundary of connections: that of their tokens. */
export function ownConnections(ctx: RequestContext) {
  return { ...tenant(ctx), token: ownTokens(ctx) } satisfies Prisma.AgentLinkWhereInput
}

export const listInput = z.object({ path: agentPath })

/**
 * What the caller's tokens have to do with the agent; empty for an agent that nobody has heard of. One statement. Role:
 * viewer.
 */
export async function listConnections(ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> {
  return ctx.db.agentLink.findMany({
    where: ofAgent(ctx, raw),
    include: WITH_TOKEN,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
  })
}

/** A window of the list for GraphQL. `query` is the selection's own part. Role: viewer. */
export async function windowConnections<Q extends Selection>(
  ctx: RequestContext,
  raw: RawInput,
  window: Window,
  query: Q,
): Promise<Slice<Prisma.AgentLinkGetPayload<Q>>> {
  const where = ofAgent(ctx, raw)
  const { keyset, ...page } = newestFirst(window)
  const found = await ctx.db.agentLink.findMany({ ...query, where: { ...where, ...keyset }, ...page })
  return cut(window, found as Prisma.AgentLinkGetPayload<Q>[])
}

/** Role: viewer. */
export async function countConnections(ctx: RequestContext, raw: RawInput): Promise<number> {
  return ctx.db.agentLink.count({ where: ofAgent(ctx, raw) })
}

/** The role, the shape and the boundary of the list. */
function ofAgent(ctx: RequestContext, raw: RawInput) {
  requireRole(ctx, 'viewer')
  const { path } = parse(listInput, raw)
  return { ...ownConnections(ctx), agentId: path.agent_id }
}

/** What a write has left, in its transaction, with the selection's own part. */
export async function selectWritten<Q extends Selection>(
  sql: Sql,
  id: string,
  query: Q,
): Promise<Prisma.AgentLinkGetPayload<Q>> {
  return (await sql.agentLink.findUniqueOrThrow({ ...query, where: { id } })) as Prisma.AgentLinkGetPayload<Q>
}
