/**
 * authenticate: tells whether a person's token is there for an agent, and otherwise where the person has to go
 * (contract 8).
 */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { accessOf, redirectUriOf, requireProvider } from '../providers/find.ts'
import { missingSecret } from '../providers/rules.ts'
import { hashState, newState } from '../state.ts'
import { WITHOUT_CONTENT } from '../tokens/token.ts'
import { type AuthenticateBody, type AuthorizationView, authenticateInput, VALID_MINUTES } from './schemas.ts'
import { type Candidate, type Standing, standing } from './standing.ts'
import { sealVerifier } from './verifier.ts'

/** rows of the past that one call removes: more than it makes */
const REMOVED_AT_ONCE = 100

interface Asked {
  provider: OAuthProvider
  subject: string
  agentId: string | null
  scopes: string[]
}

/**
 * `url` leads the person to the provider and back to our call-back, once, within 15 minutes. It asks for the scopes
 * that the token has already, too, so that who uses it goes on. Role: deployer; admin for somebody else's token. Throws
 * ForbiddenError, ValidationError, NotFoundError; ConflictError when the provider lacks its client secret.
 */
export async function authenticate(ctx: RequestContext, raw: RawInput): Promise<AuthorizationView> {
  requireRole(ctx, 'deployer')
  const { body } = parse(authenticateInput, raw)
  const subject = subjectOf(ctx, body)
  const provider = await requireProvider(ctx, ctx.db, body.provider)
  const missing = missingSecret(provider)
  if (missing) throw new ConflictError(missing)
  const asked: Asked = { provider, subject, agentId: body.agent_id ?? null, scopes: [...new Set(body.scopes)] }
  const { status, token }: Standing = body.force_new
    ? { status: 'pending', token: null }
    : standing(await candidates(ctx, asked), provider, asked, ctx.clock())
  const tokenId = status === 'pending' ? null : token!.id
  if (status === 'completed') return { status, url: null, authId: null, tokenId }
  return { status, tokenId, ...(await begin(ctx, asked, token)) }
}

function subjectOf(ctx: RequestContext, { user_id: userId }: AuthenticateBody): string {
  const { subject, role } = ctx.actor
  if (userId == null || userId === subject) return subject
  if (role !== 'admin')
    throw new ForbiddenError(
      `user_id names somebody else, which needs the role admin; the credential has the role ${role}.`,
    )
  return userId
}

function candidates(ctx: RequestContext, { provider, subject, agentId }: Asked): Promise<Candidate[]> {
  return ctx.db.oAuthToken.findMany({
    where: { workspaceId: ctx.workspace.id, subject, oauthProviderId: provider.id },
    omit: WITHOUT_CONTENT,
    include: { connections: { where: { agentId: agentId ?? '' }, select: { id: true } } },
    orderBy: [{ isDefault: 'desc' }, { createdAt: 'asc' }, { id: 'asc' }],
  })
}

async function begin(
  ctx: RequestContext,
  asked: Asked,
  renews: Candidate | null,
): Promise<{ url: string; authId: string }> {
  const { provider } = asked
  const authId = randomUUID()
  const state = newState()
  const codeVerifier = provider.usesPkce ? await ctx.oauth.codeVerifier() : null
  const redirectUri = redirectUriOf(ctx, provider)
  const scopes = [...new Set([...asked.scopes, ...(renews?.scopes ?? [])])]
  const request = { redirectUri, state, codeVerifier, scopes }
  const url = await ctx.oauth.authorizationUrl(accessOf(ctx.keyring, provider), request)
  const sealed = codeVerifier === null ? null : sealVerifier(ctx.keyring, authId, codeVerifier)
  // provider and token may be deleted at this moment: they are looked at once more
  const made = await ctx.db.$executeRaw`
    WITH past AS (
      DELETE FROM oauth_authorizations WHERE id IN (
        SELECT id FROM oauth_authorizations WHERE expires_at < now() - interval '1 day'
        ORDER BY expires_at LIMIT ${REMOVED_AT_ONCE} FOR UPDATE SKIP LOCKED)
    ), provider AS (
      SELECT id FROM oauth_providers WHERE id = ${provider.id}::uuid FOR KEY SHARE
    ), renewed AS (
      SELECT id FROM oauth_tokens WHERE id = ${renews?.id ?? null}::uuid FOR KEY SHARE
    )
    INSERT INTO oauth_authorizations (id, workspace_id, oauth_provider_id, subject, created_by, agent_id, scopes,
                                      state_hash, redirect_uri, code_verifier, renews_token_id, expires_at)
    SELECT ${authId}::uuid, ${ctx.workspace.id}::uuid, provider.id, ${asked.subject}, ${ctx.actor.subject}, ${asked.agentId},
           ${scopes}::text[], ${hashState(state)}, ${redirectUri}, ${sealed}, (SELECT id FROM renewed),
           now() + make_interval(mins => ${VALID_MINUTES}::int)
    FROM provider`
  if (made === 0) throw new NotFoundError('OAuth provider', provider.providerId)
  return { url, authId }
}
