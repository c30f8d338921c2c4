/** An agent gets an access token: only with its own key, and only of a token that it is connected to (contract 8). */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { requireAgent } from '../access.ts'
import type { Core, RequestContext } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { optional, printable, uuid } from '../fields.ts'
import { refuseRevoked } from '../keys/refuse-revoked.ts'
import { parse, type RawInput } from '../parse.ts'
import { OAuthUnavailableError } from '../providers/client.ts'
import { providerPath } from '../providers/schemas.ts'
import { type Asked, choose } from './choose.ts'
import { ensureFresh } from './fresh.ts'
import { scopes } from './schemas.ts'
import { STORED, type StoredToken } from './stored.ts'
import { accountLabelOf, openToken } from './token.ts'

export const issueInput = z.object({
  path: z.object({ agent_id: z.string(), ...providerPath.shape }),
  body: z
    .object({
      scopes: scopes.describe('What the token has to be good for, at least.'),
      user_id: optional(printable(255)).describe(
        'Whose token: the subject who owns it. Needed where the agent is connected to tokens of several people.',
      ),
    })
    .meta({ id: 'IssueAccessToken' }),
})

export interface IssuedToken {
  /** never log it */
  accessToken: string
  /** as the provider spells it; mostly `bearer` */
  tokenType: string
  expiresAt: Date | null
  scopes: string[]
  connectionId: string
  accountLabel: string | null
}

type Connected = StoredToken & { connectionId: string }

/**
 * Key: the agent's own. A quiet call is one statement; where the access token has expired it is refreshed first, which
 * may take as long as the provider does. Throws ForbiddenError, ValidationError, NotFoundError; ConflictError and the
 * rest as `choose` and `ensureFresh` do; UnauthenticatedError when the key has ended while the call waited.
 */
export async function issueAccessToken(ctx: RequestContext, raw: RawInput): Promise<IssuedToken> {
  // 403 comes before the shape (contract 2)
  requireAgent(ctx, (raw.path as { agent_id: string }).agent_id)
  const { path, body } = parse(issueInput, raw)
  const token = await freshOne(ctx, {
    agentId: path.agent_id,
    providerId: path.provider_id,
    scopes: body.scopes,
    userId: body.user_id ?? null,
  })
  if (token.unused) noteUse(ctx, token.id)
  const { accessToken, tokenType } = openToken(ctx.keyring, token)
  return {
    accessToken,
    tokenType,
    expiresAt: token.expiresAt,
    scopes: token.scopes,
    connectionId: token.connectionId,
    accountLabel: accountLabelOf(token),
  }
}

/**
 * One that turns out to have ended is passed over. One refresh a call: a provider that gives no answers would end all
 * tokens, one after the other, while the caller waits. Throws OAuthUnavailableError where the next one is due for one,
 * too.
 */
async function freshOne(ctx: RequestContext, asked: Asked): Promise<Connected> {
  const { provider, connected } = await find(ctx, asked)
  const token = choose(connected, asked)
  const freshness = await ensureFresh(ctx, provider, token)
  if (freshness === 'as read') return token
  // the call has waited: key, connection and scopes are as they are now
  await refuseRevoked(ctx)
  const { connected: now } = await find(ctx, asked)
  const next = choose(freshness === 'changed' ? now.filter(({ id }) => id === token.id) : now, asked)
  if (freshness === 'ended' && next.validFor !== null && next.validFor <= 0)
    throw new OAuthUnavailableError(
      `A token of the OAuth provider '${provider}' has ended, and the next one has yet to be refreshed.`,
    )
  return next
}

type Row = { provider: string } & (Connected | { [K in keyof Connected]: null })

/** The provider's name, and what the agent is connected to there, the token to take first. Throws NotFoundError. */
async function find(ctx: RequestContext, asked: Asked): Promise<{ provider: string; connected: Connected[] }> {
  const { id: workspaceId, organizationId } = ctx.workspace
  const id = uuid.safeParse(asked.providerId)
  const named = id.success ? Prisma.sql`p.id = ${id.data}::uuid` : Prisma.sql`p.provider_id = ${asked.providerId}`
  const rows = await ctx.db.$queryRaw<Row[]>`
    SELECT p.name AS provider, c.id AS "connectionId", ${STORED}
    FROM oauth_providers p
    LEFT JOIN (agent_connections c JOIN oauth_tokens t ON t.id = c.token_id AND t.workspace_id = c.workspace_id)
      ON t.oauth_provider_id = p.id AND c.workspace_id = ${workspaceId}::uuid AND c.agent_id = ${asked.agentId}
    WHERE p.organization_id = ${organizationId}::uuid AND ${named}
    ORDER BY t.is_default DESC, t.created_at, t.id`
  const [first] = rows
  if (!first) throw new NotFoundError('OAuth provider', asked.providerId)
  return { provider: first.provider, connected: rows.filter((row) => row.connectionId !== null) }
}

/** Writes when an agent last got it, at most once a minute however many servers hand it out. No call waits for it. */
function noteUse(core: Core, id: string): void {
  core.db.$executeRaw`
    UPDATE oauth_tokens SET used_at = clock_timestamp()
    WHERE id = ${id}::uuid AND (used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute')`.catch((error) =>
    core.log.warn({ err: error }, 'the last use of a token could not be written'),
  )
}
