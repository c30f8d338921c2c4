/** Connects an agent to one of the caller's tokens, so the agent can get its access token (docs/oauth.md#rules). */
import { z } from 'zod'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse } from '../../parsing/parse.ts'
import { toChange } from '../../repositories/locks.ts'
import { requireRole } from '../../transaction/access.ts'
import { type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/read-back.ts'
import { tokenStatus } from '../tokens/token.ts'
import { agentPath, type ConnectionView, connectAgent, WITH_TOKEN } from './connection.ts'

const createConnectionBody = z
  .object({ oauth_token_id: uuid.describe('The id of one of your own tokens.') })
  .meta({ id: 'CreateConnection' })

export const createInput = z.object({ path: agentPath, body: createConnectionBody })

/** Returns an existing connection as well. Throws NotFoundError for another user's token; ConflictError (TOKEN_EXPIRED). */
export const createConnection = writeVerb<ConnectionView>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(createInput, raw)
  return transaction(ctx, async (tx) => {
    const tokenId = body.oauth_token_id
    await lockActiveToken(tx, ctx, tokenId)
    const { subject } = ctx.actor
    const { id } = await connectAgent(tx, { workspaceId: ctx.workspace.id, agentId: path.agent_id, tokenId, subject })
    return read(tx, await tx.sql.agentConnection.findUniqueOrThrow({ where: { id }, include: WITH_TOKEN }))
  })
})

interface LockedToken {
  endedAt: Date | null
  expiresAt: Date | null
  refreshable: boolean
  provider: string
}

/** Locks the token until the commit, so neither it nor its connections are deleted. */
async function lockActiveToken(tx: Tx, ctx: RequestContext, id: string): Promise<void> {
  const [token] = await tx.sql.$queryRaw<LockedToken[]>`
    SELECT t.ended_at AS "endedAt", t.expires_at AS "expiresAt", t.refreshable, p.name AS provider
    FROM oauth_tokens t JOIN oauth_providers p ON p.id = t.oauth_provider_id
    WHERE t.id = ${id}::uuid AND t.workspace_id = ${ctx.workspace.id}::uuid AND t.subject = ${ctx.actor.subject}
    ${toChange('t')}`
  if (!token) throw new NotFoundError('OAuth token', id)
  if (tokenStatus(token, ctx.clock()) === 'EXPIRED')
    throw new ConflictError(`The token of '${token.provider}' has expired: authenticate again.`, 'TOKEN_EXPIRED')
}
