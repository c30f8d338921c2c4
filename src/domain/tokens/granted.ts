/** What a provider has granted: which scopes, and until when. Pure. */

/**
 * The scopes of OpenID Connect (Core 5.4, 11). They ask for claims and for a refresh token, not for access to anything,
 * and providers leave them out of the answer's `scope` (Microsoft) or spell them otherwise (Google).
 */
const OPENID_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/**
 * `answered`: as the token endpoint tells it; null: it does not, and those that were asked for are granted (RFC 6749,
 * 5.1). What was asked for of OpenID Connect counts as granted.
 */
export function grantedScopes(asked: readonly string[], answered: readonly string[] | null): string[] {
  if (!answered) return [...new Set(asked)]
  return [...new Set([...answered, ...asked.filter((scope) => OPENID_SCOPES.includes(scope))])]
}

/**
 * `expiresIn`: seconds, as the provider tells it. `askedAt`: before the request was sent, so that it is never too late.
 */
export function grantedUntil(expiresIn: number | null, askedAt: Date): Date | null {
  return expiresIn === null ? null : new Date(askedAt.getTime() + expiresIn * 1000)
}
