/** What a token endpoint's answer grants: which scopes, and until when. Pure. */

/**
 * The scopes of OpenID Connect (Core 5.4, 11). They ask for claims and a refresh token, not for access to a resource.
 * Some providers leave them out of the answer's `scope` (Microsoft), others spell them differently (Google).
 */
const OPENID_SCOPES: readonly string[] = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access']

/**
 * `answered`: the answer's `scope`; null: it has none, which means that all were granted (RFC 6749, 5.1). Scopes of
 * OpenID Connect that were asked for always count as granted.
 */
export function grantedScopes(asked: readonly string[], answered: readonly string[] | null): string[] {
  if (!answered) return [...new Set(asked)]
  return [...new Set([...answered, ...asked.filter((scope) => OPENID_SCOPES.includes(scope))])]
}

/** `expiresIn`: seconds. `askedAt`: when the request was sent, so that the result is never later than the real expiry. */
export function expiryOf(expiresIn: number | null, askedAt: Date): Date | null {
  return expiresIn === null ? null : new Date(askedAt.getTime() + expiresIn * 1000)
}
