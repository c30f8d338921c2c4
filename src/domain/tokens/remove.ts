/**
 * Takes tokens away, in an open transaction that has locked them: their connections go, and their provider will be
 * told.
 */
import type { Prisma } from '../../generated/prisma/client.ts'
import type { Core, Tx } from '../context.ts'
import { queueRevocation, type Revocation } from './revocations.ts'
import { openToken } from './token.ts'

/** What has to be read of a token for that. */
export const REMOVABLE = {
  provider: true,
  connections: { select: { id: true }, orderBy: { id: 'asc' } },
} as const satisfies Prisma.OAuthTokenInclude

export type RemovableToken = Prisma.OAuthTokenGetPayload<{ include: typeof REMOVABLE }>

/**
 * `actor`: who does it. Answers what the caller may tell the provider after the commit; else the job does. Null:
 * nothing.
 */
export async function removeToken(
  tx: Tx,
  { keyring }: Pick<Core, 'keyring'>,
  { connections, provider, ...token }: RemovableToken,
  actor: string,
): Promise<Revocation | null> {
  const { id, workspaceId } = token
  const queued = await queueRevocation(tx, keyring, provider, token, openToken(keyring, token))
  // its connections go with it
  await tx.sql.oAuthToken.delete({ where: { id }, select: { id: true } })
  for (const connection of connections)
    tx.emit({ workspaceId, type: 'connection.deleted', subjectId: connection.id, actor })
  tx.emit({ workspaceId, type: 'oauth_token.deleted', subjectId: id, actor })
  return queued
}
