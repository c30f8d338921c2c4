/** A connection of an agent to a token: tenant boundary, REST shape and insert. */
import { z } from 'zod'
import type { AgentConnection, Prisma } from '../../../generated/prisma/client.ts'
import { tenant } from '../../transaction/access.ts'
import type { RequestContext, Tx } from '../../transaction/context.ts'
import { agentId } from '../../values/oauth-token.ts'
import { ownTokens } from '../tokens/token.ts'

export const agentPath = z.object({ agent_id: agentId })

/** A caller sees the connections of their own tokens. */
export function ownConnections(ctx: RequestContext) {
  return { ...tenant(ctx), token: ownTokens(ctx) } satisfies Prisma.AgentConnectionWhereInput
}

/** The token's fields that REST shows, without the secret content. */
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

/** `subject`: the person or key that connects them. */
export type NewConnection = Record<'workspaceId' | 'agentId' | 'tokenId' | 'subject', string>

/** Returns an existing connection as well. The caller has checked that the token belongs to workspace and subject. */
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
