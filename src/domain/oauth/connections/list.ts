/** Lists connections to the caller's own tokens, newest first: all (REST) or a window by cursor (GraphQL). */
import { z } from 'zod'
import type { AgentConnection } from '../../../generated/prisma/client.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { resource } from '../../transaction/resource.ts'
import { agentId } from '../../values/oauth-token.ts'
import { agentPath, type ConnectionView, ownConnections, WITH_TOKEN } from './connection.ts'

export const connections = resource<AgentConnection>({
  name: 'Connection',
  table: (sql) => sql.agentConnection,
  visible: ownConnections,
})

export const listInput = z.object({ path: agentPath })

export const listConnections = (ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> =>
  connections.all(ctx, () => ofAgent(parse(listInput, raw)), { include: WITH_TOKEN }) as Promise<ConnectionView[]>

const filterInput = z.object({ path: z.object({ agent_id: agentId.nullish() }) })

/** The filter of GraphQL's list. Without an agent: the connections of all agents. */
export const connectionsOfAgent = (raw: RawInput) => () => ofAgent(parse(filterInput, raw))

const ofAgent = ({ path }: z.output<typeof filterInput>) => ({ agentId: path.agent_id ?? undefined })
