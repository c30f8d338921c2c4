/** Links an agent to a token, in an open transaction: the one way in which connections come to be. */
import type { AgentLink } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'

export interface NewLink {
  workspaceId: string
  agentId: string
  tokenId: string
  /** who links: the subject of the call */
  subject: string
}

/**
 * A second time it is the connection that is there. The caller has checked that the token is the workspace's and the
 * subject's.
 */
export async function link(tx: Tx, { workspaceId, agentId, tokenId, subject }: NewLink): Promise<AgentLink> {
  const [made] = await tx.sql.agentLink.createManyAndReturn({
    data: [{ workspaceId, agentId, tokenId, createdBy: subject }],
    skipDuplicates: true,
  })
  if (!made) return tx.sql.agentLink.findFirstOrThrow({ where: { workspaceId, agentId, tokenId } })
  tx.emit({ workspaceId, type: 'connection.created', subjectId: made.id, actor: subject })
  return made
}
