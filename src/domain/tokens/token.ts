/** What a stored token is: its sealed content, its state, its names. Pure. */
import type { OAuthToken } from '../../generated/prisma/client.ts'
import type { KeyRing } from '../secrets/keyring.ts'
import { seal, unseal } from '../secrets/sealed.ts'

/** What the sealed column holds. */
export interface TokenContent {
  accessToken: string
  tokenType: string
  refreshToken: string | null
}

const placeOf = (id: string) => `oauth_tokens.sealed:${id}`

export function sealToken(keyring: KeyRing, id: string, content: TokenContent): string {
  return seal(keyring, placeOf(id), JSON.stringify(content))
}

export function openToken(keyring: KeyRing, token: Pick<OAuthToken, 'id' | 'sealed'>): TokenContent {
  return JSON.parse(unseal(keyring, placeOf(token.id), token.sealed)) as TokenContent
}

/** A token as it may be shown. */
export type TokenView = Omit<OAuthToken, 'sealed'>

/** What look-ups of tokens leave out unless a token is used. */
export const WITHOUT_CONTENT = { sealed: true } as const

export const TOKEN_STATUSES = ['ACTIVE', 'EXPIRED'] as const
export type TokenStatus = (typeof TOKEN_STATUSES)[number]

/**
 * EXPIRED: nothing brings it back but its owner, who authenticates again. One that can be refreshed is ACTIVE however
 * old it is.
 */
export function tokenStatus(token: Pick<OAuthToken, 'endedAt' | 'expiresAt' | 'refreshable'>, now: Date): TokenStatus {
  if (token.endedAt) return 'EXPIRED'
  return token.expiresAt && token.expiresAt <= now && !token.refreshable ? 'EXPIRED' : 'ACTIVE'
}

/** `why`: a clause that goes on from "the provider"; so is the answer. */
export function notRefreshed(why: string): string {
  return `did not refresh the token when it was last asked: it ${why}`
}

/** Why a token has expired that did not end by a refresh, as a sentence. */
export const NOT_REFRESHABLE = 'The provider gave no refresh token for it.'

/** What is wrong with it, in sentences; null: nothing. For its owner. */
export function statusMessageOf(
  token: Pick<OAuthToken, 'endedAt' | 'endedBecause' | 'expiresAt' | 'refreshable' | 'refreshError'>,
  now: Date,
): string | null {
  const { endedBecause, refreshError } = token
  if (endedBecause !== null) return endedBecause
  if (tokenStatus(token, now) === 'EXPIRED') return `${NOT_REFRESHABLE} Authenticate again.`
  return refreshError === null ? null : `The provider ${notRefreshed(refreshError)}. It is asked again.`
}

/** How people know the account: the owner's own name for it, else the provider's. */
export function accountLabelOf(token: Pick<OAuthToken, 'label' | 'accountLabel'>): string | null {
  return token.label ?? token.accountLabel
}

/** Whether a token of these scopes will do for what is asked. */
export function covers(token: Pick<OAuthToken, 'scopes'>, asked: readonly string[]): boolean {
  return asked.every((scope) => token.scopes.includes(scope))
}
