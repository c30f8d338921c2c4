/** The scopes and the expiry that a token response grants. Pure. */

/**
 * Scopes of OpenID Connect (Core 5.4, 11). They request claims and a refresh token, not access to a resource. Some providers omit
 * them from the response's `scope` (Microsoft), others spell them differently (Google).
 */
const OPENID_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/** `answered` null: all were granted (RFC 6749, 5.1). Requested scopes of OpenID Connect always count as granted. */
export function grantedScopes(requested: readonly string[], answered: readonly string[] | null): string[] {
  if (!answered) return [...new Set(requested)]
  return [...new Set([...answered, ...requested.filter((scope) => OPENID_SCOPES.includes(scope))])]
}

/** `expiresIn`: seconds. `requestedAt`: start of the request, so the result is never later than the real expiry. */
export function expiryOf(expiresIn: number | null, requestedAt: Date): Date | null {
  return expiresIn === null ? null : new Date(requestedAt.getTime() + expiresIn * 1000)
}
