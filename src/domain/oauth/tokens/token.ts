/** A stored token: tenant boundary, encrypted content, status, the caller's list, and the PATCH of label and default. */
import { z } from 'zod'
import type { OAuthToken, Prisma } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import { NotFoundError, rejectIfAny } from '../../errors/errors.ts'
import { optional, printable, queryText } from '../../parsing/fields.ts'
import { changedFields, parse, type RawInput, violation } from '../../parsing/parse.ts'
import { toChange } from '../../repositories/locks.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/once.ts'
import { resource } from '../../transaction/resource.ts'
import { tokenPath } from '../../values/oauth-provider.ts'
import { ownProviders, whereProviderName } from './provider-access.ts'

/** The tenant boundary of tokens: one person in one workspace. Every query for a caller spreads it into its where-clause. */
export function ownTokens(ctx: ReadContext): { workspaceId: string; subject: string } {
  return { workspaceId: ctx.workspace.id, subject: ctx.actor.subject }
}

/** The content of the `sealed` column. */
export interface TokenContent {
  accessToken: string
  tokenType: string
  refreshToken: string | null
}

const sealContext = (id: string) => `oauth_tokens.sealed:${id}`

export function sealToken(keyring: KeyRing, id: string, content: TokenContent): string {
  return seal(keyring, sealContext(id), JSON.stringify(content))
}

export function openToken(keyring: KeyRing, token: Pick<OAuthToken, 'id' | 'sealed'>): TokenContent {
  return JSON.parse(unseal(keyring, sealContext(token.id), token.sealed)) as TokenContent
}

/** A token without its secret content. */
export type TokenView = Omit<OAuthToken, 'sealed'>

/** Prisma's `omit` for every query that does not use the secret content. */
export const WITHOUT_CONTENT = { sealed: true } as const

export const TOKEN_STATUSES = ['ACTIVE', 'EXPIRED'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/** EXPIRED: only its owner can renew it. A refreshable token is ACTIVE, even after its access token expired. */
export function tokenStatus(token: Pick<OAuthToken, 'endedAt' | 'expiresAt' | 'refreshable'>, now: Date): TokenStatus {
  if (token.endedAt) return 'EXPIRED'
  return token.expiresAt && token.expiresAt <= now && !token.refreshable ? 'EXPIRED' : 'ACTIVE'
}

/** `why` and the result are clauses with "the provider" as their subject. */
export function refreshFailureClause(why: string): string {
  return `did not refresh the token at the last attempt: it ${why}`
}

/** Why a token without a refresh token has expired. */
export const NOT_REFRESHABLE = 'The provider gave no refresh token for it.'

/** Problem of the token, in sentences for its owner; null: none. */
export function tokenStatusMessage(
  token: Pick<OAuthToken, 'endedAt' | 'endedBecause' | 'expiresAt' | 'refreshable' | 'refreshError'>,
  now: Date,
): string | null {
  const { endedBecause, refreshError } = token
  if (endedBecause !== null) return endedBecause
  if (tokenStatus(token, now) === 'EXPIRED') return `${NOT_REFRESHABLE} Authenticate again.`
  return refreshError === null ? null : `The provider ${refreshFailureClause(refreshError)}. The server tries again.`
}

/** The label that the owner chose, or else the provider's account name. */
export function displayLabel(token: Pick<OAuthToken, 'label' | 'accountLabel'>): string | null {
  return token.label ?? token.accountLabel
}

export function coversScopes(token: Pick<OAuthToken, 'scopes'>, scopes: readonly string[]): boolean {
  return scopes.every((scope) => token.scopes.includes(scope))
}

/**
 * Scopes of OpenID Connect (Core 5.4, 11). They request claims and a refresh token, not access to a resource. Some providers omit
 * them from the response's `scope` (Microsoft), others spell them differently (Google).
 */
const OPENID_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/** The scopes that a token response grants. `answered` null: all were granted (RFC 6749, 5.1). Requested scopes of OpenID Connect always count as granted. */
export function grantedScopes(requested: readonly string[], answered: readonly string[] | null): string[] {
  if (!answered) return [...new Set(requested)]
  return [...new Set([...answered, ...requested.filter((scope) => OPENID_SCOPES.includes(scope))])]
}

/** A selection must leave out the secret content. */
export const tokens = resource<TokenView>({
  name: 'OAuth token',
  table: (sql) => sql.oAuthToken,
  visible: ownTokens,
})

export type ListedToken = TokenView & { provider: { providerId: string } }

const LISTED_TOKEN = {
  omit: WITHOUT_CONTENT,
  include: { provider: { select: { providerId: true } } },
} as const satisfies Prisma.OAuthTokenDefaultArgs

export const listInput = z.object({
  query: z.object({
    provider_id: queryText.describe('Lists only tokens of this OAuth provider, by its `provider_id` or its id.'),
  }),
})

export const listTokens = (ctx: RequestContext, raw: RawInput): Promise<ListedToken[]> =>
  tokens.all(ctx, tokensOfProvider(ctx, raw), LISTED_TOKEN) as Promise<ListedToken[]>

/** The filter of the list. */
export const tokensOfProvider = (ctx: ReadContext, raw: RawInput) => (): Prisma.OAuthTokenWhereInput => {
  const { provider_id: name } = parse(listInput, raw).query
  return name === undefined ? {} : { provider: { ...ownProviders(ctx), ...whereProviderName(name) } }
}

const isDefault = optional(z.boolean())

export const updateInput = z.object({
  path: tokenPath,
  body: z
    .object({
      label: optional(printable(128)).describe('A label that replaces the name of the account at the provider.'),
      is_default: isDefault.describe(
        'true: this token is preferred among your tokens of the provider, and the others no longer are.',
      ),
      default: isDefault.describe('An alias of `is_default`.'),
    })
    .meta({ id: 'OAuthTokenMetadata' }),
})

/** An absent or null member keeps the stored value. A call without changes writes no event. */
export const updateToken = writeVerb<ListedToken>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  const { workspaceId } = ownTokens(ctx)
  return transaction(ctx, async (tx) => {
    const { stored, others } = await lockWithSiblings(tx, ctx, path.token_id)
    const chosen = body.is_default ?? body.default ?? null
    if (body.default != null && body.default !== chosen)
      rejectIfAny([violation('default', 'The same as is_default: leave one of them out.')])
    const where = { id: path.token_id }
    const data = { label: body.label ?? undefined, isDefault: chosen ?? undefined }
    const changed = changedFields(stored, data)
    if (changed.length === 0) return read(tx, await tx.sql.oAuthToken.findUniqueOrThrow({ where, ...LISTED_TOKEN }))
    // First, because the unique index allows one default token per person and provider, even within a transaction.
    const formerDefaults = chosen
      ? await tx.sql.oAuthToken.updateManyAndReturn({
          where: { id: { in: others }, isDefault: true },
          data: { isDefault: false },
          select: { id: true },
        })
      : []
    const token = await tx.sql.oAuthToken.update({ where, data, ...LISTED_TOKEN })
    const updated = { workspaceId, type: 'oauth_token.updated', actor: actorOf(ctx.actor) } as const
    for (const { id } of formerDefaults) tx.emit({ ...updated, subjectId: id, changed: ['is_default'] })
    tx.emit({ ...updated, subjectId: token.id, changed })
    return read(tx, token)
  })
})

type Names = Pick<OAuthToken, 'label' | 'isDefault'>

/** Prevents two concurrent defaults. The order of ids prevents deadlocks. Throws NotFoundError. */
async function lockWithSiblings(tx: Tx, ctx: ReadContext, id: string): Promise<{ stored: Names; others: string[] }> {
  const { workspaceId, subject } = ownTokens(ctx)
  const locked = await tx.sql.$queryRaw<({ id: string } & Names)[]>`
    SELECT t.id, t.label, t.is_default AS "isDefault" FROM oauth_tokens t
    WHERE t.workspace_id = ${workspaceId}::uuid AND t.subject = ${subject} AND t.oauth_provider_id = (
      SELECT oauth_provider_id FROM oauth_tokens
      WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject})
    ORDER BY t.id ${toChange('t')}`
  const stored = locked.find((row) => row.id === id)
  if (!stored) throw new NotFoundError('OAuth token', id)
  return { stored, others: locked.filter((row) => row !== stored).map((row) => row.id) }
}
