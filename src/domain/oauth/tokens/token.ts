/** A stored token: tenant boundary, encrypted content, status and display label. */
import type { OAuthToken } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { RequestContext } from '../../transaction/context.ts'

/** The tenant boundary of tokens: one person in one workspace. Every query for a caller spreads it into its where-clause. */
export function ownTokens(ctx: RequestContext): { workspaceId: string; subject: string } {
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
