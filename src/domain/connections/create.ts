/** Connects an agent to a token of the caller: from then on the agent gets its access token (contract 8). */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import { uuid } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { tokenStatus } from '../tokens/token.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { link } from './link.ts'
import { agentPath } from './schemas.ts'
import { type ConnectionView, WITH_TOKEN } from './view.ts'

const createConnectionBody = z
  .object({ oauth_token_id: uuid.describe('One of your own tokens, as the list of tokens shows it.') })
  .meta({ id: 'CreateConnection' })

export const createInput = z.object({ path: agentPath, body: createConnectionBody })

/**
 * A second time it is the connection that is there. Answers it as REST shows it, or what `read` reads in its
 * transaction. Role: deployer. Throws NotFoundError for a token that is not the
 * caller's; ConflictError (TOKEN_EXPIRED) for one that has ended.
 */
export function createConnection(ctx: RequestContext, raw: RawInput): Promise<ConnectionView>
export function createConnection<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<ConnectionView, T>): Promise<T>
export async function createConnection(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<ConnectionView, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(createInput, raw)
  return transaction(ctx, async (tx) => {
    const tokenId = body.oauth_token_id
    await lockLiveToken(tx, ctx, tokenId)
    const { subject } = ctx.actor
    const { id } = await link(tx, { workspaceId: ctx.workspace.id, agentId: path.agent_id, tokenId, subject })
    return read(tx.sql, await tx.sql.agentLink.findUniqueOrThrow({ where: { id }, include: WITH_TOKEN }))
  })
}

interface Locked {
  endedAt: Date | null
  expiresAt: Date | null
  refreshable: boolean
  provider: string
}

/** Until the commit the token is not deleted, and none of its connections is. */
async function lockLiveToken(tx: Tx, ctx: RequestContext, id: string): Promise<void> {
  const [token] = await tx.sql.$queryRaw<Locked[]>`
    SELECT t.ended_at AS "endedAt", t.expires_at AS "expiresAt", t.refreshable, p.name AS provider
    FROM oauth_tokens t JOIN oauth_providers p ON p.id = t.oauth_provider_id
    WHERE t.id = ${id}::uuid AND t.workspace_id = ${ctx.workspace.id}::uuid AND t.subject = ${ctx.actor.subject}
    FOR NO KEY UPDATE OF t`
  if (!token) throw new NotFoundError('OAuth token', id)
  if (tokenStatus(token, ctx.clock()) === 'EXPIRED')
    throw new ConflictError(`The token of '${token.provider}' has expired: authenticate again.`, 'TOKEN_EXPIRED')
}
