/**
 * Port: calls to OAuth providers and MCP servers. Implemented in `src/adapters/oauth/`. Every call may throw
 * OAuthFailure, and none may be made in a transaction.
 */
import { DomainError } from '../errors/errors.ts'
import type { AuthMethod, ProviderType } from '../values/oauth-provider.ts'

/** How a call failed, which decides whether it may be repeated. */
export type FailureKind =
  /** nothing was sent: the address is not allowed, can't be resolved or can't be reached */
  | 'unreachable'
  /** no complete answer came: what the provider has done is not known */
  | 'unanswered'
  /** the answer is not OAuth's: a 5xx, a redirect, HTML … */
  | 'unusable'
  /** an OAuth error (`error`): the provider has understood, and refuses */
  | 'refused'

/** `message`: a clause for people, like "answered 503"; of the provider's own text it has at most a plain error code. */
export class OAuthFailure extends Error {
  readonly kind: FailureKind
  /** the OAuth error code (`invalid_grant`, …) of what was refused; only if it looks like one */
  readonly error: string | null
  constructor(kind: FailureKind, message: string, error: string | null = null) {
    super(message)
    this.name = 'OAuthFailure'
    this.kind = kind
    this.error = error
  }
}

/** Any error as such a clause: the message of another error might contain a token, so only its name is shown. */
export function clauseOf(error: unknown): string {
  return error instanceof OAuthFailure ? error.message : `could not be asked (${(error as Error).name})`
}

/** For callers: a provider could not be asked now. `what`: what has happened, as a sentence. */
export class OAuthUnavailableError extends DomainError {
  constructor(what: string) {
    super('OAUTH_PROVIDER_UNAVAILABLE', `${what} Try again later.`)
  }
}

/** The same for a configured provider. `provider`: its name. */
export class OAuthProviderUnavailableError extends OAuthUnavailableError {
  constructor(provider: string, failure: OAuthFailure) {
    super(`The OAuth provider '${provider}' ${failure.message}.`)
  }
}

/** What calls at a provider need, decrypted. Never log or store it. */
export interface ProviderAccess {
  providerType: ProviderType | null
  clientId: string
  clientSecret: string | null
  tokenEndpointAuthMethod: AuthMethod
  authUrl: string
  tokenUrl: string
  usesPkce: boolean
  /** known if the provider was discovered; then callbacks must not name another one (RFC 9207) */
  issuer: string | null
  /** the resource that tokens are for (RFC 8707); null: the provider's default */
  resource: string | null
}

/** The account that a token is for, as the provider says. */
export interface Account {
  /** stable at the provider */
  id: string
  /** for people: an e-mail address, a name */
  label: string
}

export interface TokenSet {
  accessToken: string
  /** in the provider's spelling; mostly `bearer` */
  tokenType: string
  refreshToken: string | null
  /** seconds, at most ten years, so that the date can be stored; null: not in the answer */
  expiresIn: number | null
  /** null: all that were asked for (RFC 6749, 5.1) */
  scopes: string[] | null
  /** null: not in the answer */
  account: Account | null
}

/** A provider's published metadata (RFC 8414, OpenID Connect Discovery). */
export interface PublishedEndpoints {
  issuer: string | null
  revocationUrl: string | null
  userinfoUrl: string | null
}

/** An MCP server's authorization server, with the client that was registered there. */
export interface RegisteredClient {
  clientId: string
  clientSecret: string | null
  tokenEndpointAuthMethod: AuthMethod
  authUrl: string
  tokenUrl: string
  issuer: string
  revocationUrl: string | null
  userinfoUrl: string | null
  /** the MCP server's identifier as a resource */
  resource: string
}

export interface OAuthClient {
  /**
   * Why calls to this address are not allowed, as a clause: "must be https …". Null: they are, as far as the address
   * itself shows; the addresses it resolves to are checked with each call.
   */
  refusal(url: string): string | null
  /** A new PKCE code verifier (RFC 7636). */
  codeVerifier(): Promise<string>
  /** The address to send the person to. `codeVerifier`: null without PKCE. Makes no call. */
  authorizationUrl(
    access: ProviderAccess,
    request: { redirectUri: string; state: string; codeVerifier: string | null; scopes: readonly string[] },
  ): Promise<string>
  /** Exchanges the code of a callback. `callback`: its parameters, with this `state` and without an error. */
  exchange(
    access: ProviderAccess,
    grant: { callback: URLSearchParams; state: string; redirectUri: string; codeVerifier: string | null },
  ): Promise<TokenSet>
  /** Uses a refresh token. `timeout`: ms. */
  refresh(access: ProviderAccess, refreshToken: string, timeout: number): Promise<TokenSet>
  /** Revokes a token (RFC 7009). A token that the provider does not know counts as revoked. */
  revoke(
    access: ProviderAccess,
    revocationUrl: string,
    token: { value: string; hint: 'access_token' | 'refresh_token' },
  ): Promise<void>
  /** Looks up the provider's metadata. All null: none was found. Throws only if the provider could not be asked. */
  published(access: ProviderAccess): Promise<PublishedEndpoints>
  /** Asks which account a token is for. Null: not in the answer. */
  userinfo(access: ProviderAccess, userinfoUrl: string, accessToken: string): Promise<Account | null>
  /**
   * Finds the authorization server of an MCP server and registers a client there (RFC 9728, 8414, 7591). Throws no
   * OAuthFailure, but McpDiscoveryError and McpUnavailableError.
   */
  registerForMcp(mcpServerUrl: string, client: { name: string; redirectUri: string }): Promise<RegisteredClient>
}

/** The MCP server does not support what is needed; its operator or the caller has to change that. `message`: a sentence. */
export class McpDiscoveryError extends Error {}

/** The MCP server or its authorization server can't be asked now. `message`: a sentence. */
export class McpUnavailableError extends Error {}
