/**
 * Port: the organization's own login (OpenID Connect). Implemented in `src/adapters/oauth/login.ts`. Every call is bounded in
 * time, may throw OAuthFailure, and must not be made in a transaction.
 */

/** What one login is known by, from its beginning to its end; each made for it alone. */
export interface LoginSecrets {
  /** comes back with the answer */
  state: string
  /** comes back in the ID token */
  nonce: string
  /** of PKCE (RFC 7636) */
  codeVerifier: string
}

/** What is said about a person, as it was received. */
export type Claims = Record<string, unknown>

export interface Login {
  /** whose login it is, for people */
  name: string
  /** Where to send the person. `redirectUri`: where they come back to. */
  authorizationUrl(redirectUri: string, login: LoginSecrets): Promise<string>
  /**
   * Who has come back. `answer`: the parameters they came with. The ID token has been checked in full; only when its claims
   * are not `enough` the provider is asked for more about the same person.
   */
  claims(
    answer: URLSearchParams,
    redirectUri: string,
    login: LoginSecrets,
    enough: (claims: Claims) => boolean,
  ): Promise<Claims>
  /** Asks what the provider publishes, so that nobody has to wait for it later. */
  prepare(): Promise<void>
}
