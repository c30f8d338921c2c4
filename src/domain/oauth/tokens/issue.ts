/** Issues an access token to an agent. Requires the agent's own key and a connection to the token (docs/oauth.md#rules). */
import { z } from 'zod'
import { Prisma } from '../../../generated/prisma/client.ts'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { refuseRevoked } from '../../keys/manage.ts'
import { optional, printable, uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { OAuthUnavailableError } from '../../ports/oauth-client.ts'
import { requireAgent } from '../../transaction/access.ts'
import type { ReadContext, ReadCore, RequestContext } from '../../transaction/context.ts'
import { providerPath, scopes } from '../../values/oauth-provider.ts'
import { ensureFresh } from './refresh.ts'
import { SNAPSHOT_COLUMNS, type TokenSnapshot } from './refresh-state.ts'
import { coversScopes, displayLabel, NOT_REFRESHABLE, openToken } from './token.ts'

export const issueInput = z.object({
  path: z.object({ agent_id: z.string(), ...providerPath.shape }),
  body: z
    .object({
      scopes: scopes.describe('The scopes that the token must have at least.'),
      user_id: optional(printable(255)).describe(
        'The owner of the token. Required if the agent is connected to tokens of several people.',
      ),
    })
    .meta({ id: 'IssueAccessToken' }),
})

export interface IssuedToken {
  /** secret: never log it */
  accessToken: string
  /** in the provider's spelling; usually `bearer` */
  tokenType: string
  expiresAt: Date | null
  scopes: string[]
  connectionId: string
  accountLabel: string | null
}

/** `providerId`: in the caller's spelling. `userId`: the token's owner; null: not given. */
interface TokenRequest {
  agentId: string
  providerId: string
  scopes: readonly string[]
  userId: string | null
}

type ConnectedToken = TokenSnapshot & { connectionId: string }

/**
 * Usually one statement; an expired access token is refreshed first. Throws the errors of `selectForAgent` and `ensureFresh`;
 * UnauthenticatedError when the key ends during the call.
 */
export async function issueAccessToken(ctx: RequestContext, raw: RawInput): Promise<IssuedToken> {
  // 403 before 422 (docs/api-rules.md#errors)
  requireAgent(ctx, (raw.path as { agent_id: string }).agent_id)
  const { path, body } = parse(issueInput, raw)
  const token = await freshToken(ctx, {
    agentId: path.agent_id,
    providerId: path.provider_id,
    scopes: body.scopes,
    userId: body.user_id ?? null,
  })
  if (token.useOutdated) recordUse(ctx, token.id)
  const { accessToken, tokenType } = openToken(ctx.keyring, token)
  return {
    accessToken,
    tokenType,
    expiresAt: token.expiresAt,
    scopes: token.scopes,
    connectionId: token.connectionId,
    accountLabel: displayLabel(token),
  }
}

/**
 * Tries the next token after an ended one, without a second refresh: a provider that does not respond would end all tokens.
 * Throws OAuthUnavailableError if the next token needs a refresh as well.
 */
async function freshToken(ctx: RequestContext, request: TokenRequest): Promise<ConnectedToken> {
  const { provider, connected } = await findConnected(ctx, request)
  const token = selectForAgent(connected, request)
  const freshness = await ensureFresh(ctx, provider, token)
  if (freshness === 'as read') return token
  // key, connection and scopes may have changed during the wait
  await refuseRevoked(ctx)
  const { connected: now } = await findConnected(ctx, request)
  const next = selectForAgent(freshness === 'changed' ? now.filter(({ id }) => id === token.id) : now, request)
  if (freshness === 'ended' && next.validForSeconds !== null && next.validForSeconds <= 0)
    throw new OAuthUnavailableError(
      `A token of the OAuth provider '${provider}' has ended, and the next one must be refreshed first.`,
    )
  return next
}

type Row = { provider: string } & (ConnectedToken | { [K in keyof ConnectedToken]: null })

/** Returns the provider's name and the agent's connected tokens there, in order of preference. Throws NotFoundError. */
async function findConnected(
  ctx: ReadContext,
  request: TokenRequest,
): Promise<{ provider: string; connected: ConnectedToken[] }> {
  const { id: workspaceId, organizationId } = ctx.workspace
  const id = uuid.safeParse(request.providerId)
  const named = id.success ? Prisma.sql`p.id = ${id.data}::uuid` : Prisma.sql`p.provider_id = ${request.providerId}`
  const rows = await ctx.db.$queryRaw<Row[]>`
    SELECT p.name AS provider, c.id AS "connectionId", ${SNAPSHOT_COLUMNS}
    FROM oauth_providers p
    LEFT JOIN (agent_connections c JOIN oauth_tokens t ON t.id = c.token_id AND t.workspace_id = c.workspace_id)
      ON t.oauth_provider_id = p.id AND c.workspace_id = ${workspaceId}::uuid AND c.agent_id = ${request.agentId}
    WHERE p.organization_id = ${organizationId}::uuid AND ${named}
    ORDER BY t.is_default DESC, t.created_at, t.id`
  const [first] = rows
  if (!first) throw new NotFoundError('OAuth provider', request.providerId)
  return { provider: first.provider, connected: rows.filter((row) => row.connectionId !== null) }
}

/** Records the last use, at most once a minute across all servers. No call waits for it. */
function recordUse(core: ReadCore, id: string): void {
  core.db.$executeRaw`
    UPDATE oauth_tokens SET used_at = clock_timestamp()
    WHERE id = ${id}::uuid AND (used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute')`.catch((error) =>
    core.log.warn({ err: error }, 'could not record the last use of a token'),
  )
}

/**
 * `connected`: in order of preference. Throws ConflictError: CONNECTION_REQUIRED if none covers the scopes, TOKEN_EXPIRED if all
 * that do have ended, CONFLICT if those have several owners, including ended ones (../README.md).
 */
function selectForAgent<T extends TokenSnapshot>(connected: readonly T[], request: TokenRequest): T {
  const ofUser = connected.filter(({ subject }) => request.userId === null || subject === request.userId)
  const fitting = ofUser.filter((token) => coversScopes(token, request.scopes))
  if (fitting.length === 0) throw new ConflictError(describeMissing(ofUser, request), 'CONNECTION_REQUIRED')
  if (new Set(fitting.map(({ subject }) => subject)).size > 1)
    throw new ConflictError('The agent is connected to tokens of several people: name user_id.')
  const usable = fitting.find(
    ({ state, refreshable, validForSeconds }) =>
      state !== 'ended' && (refreshable || validForSeconds === null || validForSeconds > 0),
  )
  if (usable) return usable
  const because = fitting[0]!.endedBecause ?? NOT_REFRESHABLE
  throw new ConflictError(`The token has ended. ${because} Its owner must authenticate again.`, 'TOKEN_EXPIRED')
}

function describeMissing(
  ofUser: readonly TokenSnapshot[],
  { agentId, providerId, scopes, userId }: TokenRequest,
): string {
  const whose = userId === null ? '' : ' of this user'
  const how = 'Authenticate with agent_id and these scopes, or connect the agent to a token that has them.'
  if (ofUser.length === 0)
    return `The agent ${agentId} is not connected to a token${whose} of the provider ${providerId}. ${how}`
  const [fewest] = ofUser
    .map((token) => scopes.filter((scope) => !token.scopes.includes(scope)))
    .sort((one, other) => one.length - other.length)
  return `The tokens${whose} that the agent ${agentId} is connected to lack scopes: ${fewest!.join(' ')}. ${how}`
}
