/**
 * Port: the organization's login (OpenID Connect). `src/adapters/oauth/login.ts` implements it.
 * Every call has a time limit and may throw OAuthFailure. Do not call it in a transaction.
 */

/** Random values of one login. */
export interface LoginSecrets {
  /** returned in the callback */
  state: string
  /** returned in the ID token */
  nonce: string
  /** for PKCE (RFC 7636) */
  codeVerifier: string
}

/** Unvalidated claims about a person. */
export type Claims = Record<string, unknown>

export interface Login {
  /** name of the login provider */
  name: string
  /** The URL to send the person to. `redirectUri`: the callback's URL. */
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
