/** What a stored token is: whose it is, its sealed content, its status, its names. */
import type { OAuthToken } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { RequestContext } from '../../transaction/context.ts'

/**
 * The boundary of tokens: one person's in one workspace (docs/api-rules.md#who-is-calling). Every look-up of tokens for a
 * caller spreads this into its where-clause; so do those of connections, for their token.
 */
export function ownTokens(ctx: RequestContext): { workspaceId: string; subject: string } {
  return { workspaceId: ctx.workspace.id, subject: ctx.actor.subject }
}

/** What the sealed column holds. */
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

/** A token as it may be shown. */
export type TokenView = Omit<OAuthToken, 'sealed'>

/** Prisma's `omit` for every look-up that does not use the token. */
export const WITHOUT_CONTENT = { sealed: true } as const

export const TOKEN_STATUSES = ['ACTIVE', 'EXPIRED'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/**
 * EXPIRED: only its owner can bring it back, by authenticating again. A token that can be refreshed is ACTIVE, however
 * long ago its access token expired.
 */
export function tokenStatus(token: Pick<OAuthToken, 'endedAt' | 'expiresAt' | 'refreshable'>, now: Date): TokenStatus {
  if (token.endedAt) return 'EXPIRED'
  return token.expiresAt && token.expiresAt <= now && !token.refreshable ? 'EXPIRED' : 'ACTIVE'
}

/** `why` and the result are clauses with "the provider" as their subject. */
export function refreshFailureClause(why: string): string {
  return `did not refresh the token when it was last asked: it ${why}`
}

/** Why a token has expired that can't be refreshed. */
export const NOT_REFRESHABLE = 'The provider gave no refresh token for it.'

/** What is wrong with it, in sentences for its owner; null: nothing. */
export function tokenStatusMessage(
  token: Pick<OAuthToken, 'endedAt' | 'endedBecause' | 'expiresAt' | 'refreshable' | 'refreshError'>,
  now: Date,
): string | null {
  const { endedBecause, refreshError } = token
  if (endedBecause !== null) return endedBecause
  if (tokenStatus(token, now) === 'EXPIRED') return `${NOT_REFRESHABLE} Authenticate again.`
  return refreshError === null ? null : `The provider ${refreshFailureClause(refreshError)}. It is asked again.`
}

/** The name of the account for people: the one its owner gave it, or else the provider's. */
export function displayLabel(token: Pick<OAuthToken, 'label' | 'accountLabel'>): string | null {
  return token.label ?? token.accountLabel
}

/** Whether the token has all the scopes that are asked for. */
export function coversScopes(token: Pick<OAuthToken, 'scopes'>, asked: readonly string[]): boolean {
  return asked.every((scope) => token.scopes.includes(scope))
}
