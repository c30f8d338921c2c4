/** Port: login by OpenID Connect (`src/adapters/oauth/login.ts`). Not for use in a transaction. */

export interface LoginSecrets {
  /** returned in the callback */
  state: string
  /** returned in the ID token */
  nonce: string
  /** for PKCE (RFC 7636) */
  codeVerifier: string
}

export type Claims = Record<string, unknown>

export interface Login {
  name: string
  authorizationUrl(redirectUri: string, login: LoginSecrets): Promise<string>
  /**
   * The claims of the person. `answer`: the callback's parameters. The ID token is fully validated. If its claims are
   * not `enough`, the userinfo endpoint is called.
   */
  claims(
    answer: URLSearchParams,
    redirectUri: string,
    login: LoginSecrets,
    enough: (claims: Claims) => boolean,
  ): Promise<Claims>
  /** Loads the provider's metadata, so the first login does not wait for it. */
  prepare(): Promise<void>
}
