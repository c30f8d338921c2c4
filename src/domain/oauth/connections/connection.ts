/** A connection of an agent to a token: its boundary, what is shown of it, and how one is made in an open transaction. */
import { z } from 'zod'
import type { AgentConnection, Prisma } from '../../../generated/prisma/client.ts'
import { tenant } from '../../transaction/access.ts'
import type { RequestContext, Tx } from '../../transaction/context.ts'
import { agentId } from '../../values/oauth-token.ts'
import { ownTokens } from '../tokens/token.ts'

export const agentPath = z.object({ agent_id: agentId })

/** The boundary of connections: that of their tokens. */
export function ownConnections(ctx: RequestContext) {
  return { ...tenant(ctx), token: ownTokens(ctx) } satisfies Prisma.AgentConnectionWhereInput
}

/** What REST shows of the token, never the token itself. */
export const WITH_TOKEN = {
  token: {
    select: {
      scopes: true,
      label: true,
      accountLabel: true,
      expiresAt: true,
      provider: { select: { providerId: true } },
    },
  },
} as const satisfies Prisma.AgentConnectionInclude

export type ConnectionView = Prisma.AgentConnectionGetPayload<{ include: typeof WITH_TOKEN }>

/** `subject`: who connects them. */
export type NewConnection = Record<'workspaceId' | 'agentId' | 'tokenId' | 'subject', string>

/**
 * Connects an agent to a token; if they are connected already, returns that connection. The caller has checked that the
 * token is the workspace's and the subject's.
 */
export async function connectAgent(tx: Tx, connection: NewConnection): Promise<AgentConnection> {
  const { subject, ...key } = connection
  const [made] = await tx.sql.agentConnection.createManyAndReturn({
    data: [{ ...key, createdBy: subject }],
    skipDuplicates: true,
  })
  if (!made) return tx.sql.agentConnection.findFirstOrThrow({ where: key })
  tx.emit({ workspaceId: key.workspaceId, type: 'connection.created', subjectId: made.id, actor: { id: subject } })
  return made
}
