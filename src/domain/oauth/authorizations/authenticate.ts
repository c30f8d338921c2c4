/** The `authenticate` verb: finds a token that an agent may use, or starts an authorization request (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { seal } from '../../crypto/encrypted-value.ts'
import { hashToken, randomToken } from '../../crypto/random-token.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '../../errors/errors.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { toDeleteOrSkip, toKeep } from '../../repositories/locks.ts'
import { requireRole } from '../../transaction/access.ts'
import type { ReadContext, RequestContext } from '../../transaction/context.ts'
import {
  describeMissingSecret,
  openProviderAccess,
  providers,
  redirectUriOf,
  sameOrigin,
} from '../tokens/provider-access.ts'
import { coversScopes, type TokenView, tokenStatus, WITHOUT_CONTENT } from '../tokens/token.ts'
import {
  AUTHORIZATION_MINUTES,
  type AuthenticateBody,
  type AuthorizationStatus,
  type AuthorizationView,
  authenticateInput,
  verifierContext,
} from './authorization.ts'

/** Limits how many expired authorizations one call deletes. */
const MAX_PURGED_ROWS = 100

/**
 * `url` works once, within 15 minutes. It also requests the scopes of the renewed token, so its agents lose none. Role: deployer;
 * admin for another user's token. Throws ConflictError when the provider lacks its client secret.
 */
export async function authenticate(ctx: RequestContext, raw: RawInput): Promise<AuthorizationView> {
  requireRole(ctx, 'deployer')
  const { body } = parse(authenticateInput, raw)
  const subject = tokenOwner(ctx, body)
  const provider = await providers.get(ctx, () => body.provider)
  const missing = describeMissingSecret(provider)
  if (missing) throw new ConflictError(missing)
  const requested = { provider, subject, agentId: body.agent_id ?? null, scopes: [...new Set(body.scopes)] }
  const { status, token } = matchToken(
    body.force_new ? [] : await findCandidates(ctx, requested),
    requested,
    ctx.clock(),
  )
  const tokenId = status === 'pending' ? null : token!.id
  if (status === 'completed') return { status, url: null, authId: null, tokenId }
  return { status, tokenId, ...(await beginAuthorization(ctx, requested, token)) }
}

interface Requested {
  provider: OAuthProvider
  subject: string
  agentId: string | null
  scopes: string[]
}

function tokenOwner(ctx: ReadContext, { user_id: userId }: AuthenticateBody): string {
  const { subject, role } = ctx.actor
  if (userId == null || userId === subject) return subject
  if (role !== 'admin')
    throw new ForbiddenError(
      `user_id names another person, which requires the role admin; the credential has the role ${role}.`,
    )
  return userId
}

function findCandidates(ctx: ReadContext, { provider, subject, agentId }: Requested): Promise<Candidate[]> {
  return ctx.db.oAuthToken.findMany({
    where: { workspaceId: ctx.workspace.id, subject, oauthProviderId: provider.id },
    omit: WITHOUT_CONTENT,
    include: { connections: { where: { agentId: agentId ?? '' }, select: { id: true } } },
    orderBy: [{ isDefault: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  })
}

async function beginAuthorization(
  ctx: RequestContext,
  { provider, subject, agentId, scopes: requested }: Requested,
  renews: Candidate | null,
): Promise<{ url: string; authId: string }> {
  const authId = randomUUID()
  const state = randomToken()
  const codeVerifier = provider.usesPkce ? await ctx.oauth.codeVerifier() : null
  const redirectUri = redirectUriOf(ctx, provider)
  const scopes = [...new Set([...requested, ...(renews?.scopes ?? [])])]
  const request = { redirectUri, state, codeVerifier, scopes }
  const url = await ctx.oauth.authorizationUrl(openProviderAccess(ctx.keyring, provider), request)
  const sealed = codeVerifier === null ? null : seal(ctx.keyring, verifierContext(authId), codeVerifier)
  // The provider or the token may have been deleted since, so the statement finds and locks both again.
  const made = await ctx.db.$executeRaw`
    WITH purged AS (
      DELETE FROM oauth_authorizations WHERE id IN (
        SELECT id FROM oauth_authorizations WHERE expires_at < now() - interval '1 day'
        ORDER BY expires_at LIMIT ${MAX_PURGED_ROWS} ${toDeleteOrSkip('oauth_authorizations')})
    ), provider AS (
      SELECT id FROM oauth_providers WHERE id = ${provider.id}::uuid ${toKeep('oauth_providers')}
    ), renewed AS (
      SELECT id FROM oauth_tokens WHERE id = ${renews?.id ?? null}::uuid ${toKeep('oauth_tokens')}
    )
    INSERT INTO oauth_authorizations (id, workspace_id, oauth_provider_id, subject, created_by, agent_id, scopes,
                                      state_hash, redirect_uri, code_verifier, renews_token_id, expires_at)
    SELECT ${authId}::uuid, ${ctx.workspace.id}::uuid, provider.id, ${subject}, ${ctx.actor.subject}, ${agentId},
           ${scopes}::text[], ${hashToken(state)}, ${redirectUri}, ${sealed}, (SELECT id FROM renewed),
           now() + make_interval(mins => ${AUTHORIZATION_MINUTES}::int)
    FROM provider`
  if (made === 0) throw new NotFoundError('OAuth provider', provider.providerId)
  return { url, authId }
}

/** `connections`: only those to the requested agent. */
type Candidate = TokenView & { connections: readonly { id: string }[] }

/** `tokens`: the default first, then the oldest. Without a match, `token` is the closest one, which is renewed, so its connections continue to work. */
function matchToken(
  tokens: readonly Candidate[],
  { provider, agentId, scopes }: Requested,
  now: Date,
): { status: AuthorizationStatus; token: Candidate | null } {
  const connected = (token: Candidate) => agentId === null || token.connections.length > 0
  // Also after the provider's token endpoint moved: the new origin must not receive tokens of the old one.
  const usable = (token: Candidate) =>
    tokenStatus(token, now) === 'ACTIVE' && sameOrigin(token.tokenUrl, provider.tokenUrl)
  // Connected tokens first, otherwise in the order of `tokens`: find() returns the first match.
  const ordered = [...tokens.filter(connected), ...tokens.filter((token) => !connected(token))]
  const covering = ordered.filter((token) => coversScopes(token, scopes))
  // An expired token that the agent is connected to is renewed, even if a token of another account would match.
  const candidates = covering.some(connected) ? covering.filter(connected) : covering
  const match = candidates.find(usable)
  if (match) return { status: connected(match) ? 'completed' : 'connection_required', token: match }
  const ended = covering[0]
  if (ended) return { status: 'token_expired', token: ended }
  return { status: 'pending', token: ordered.find(usable) ?? ordered[0] ?? null }
}
