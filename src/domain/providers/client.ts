/**
 * OAuth providers and MCP servers as the domain sees them: what can be asked of them. Implemented in `src/oauth/`.
 * Every call may throw OAuthFailure; none is made while a transaction is open.
 */
import { DomainError } from '../errors.ts'
import type { AuthMethod, ProviderType } from './schemas.ts'

/** How a call at a provider went wrong, which decides what may be done next. */
export type FailureKind =
  /** nothing was sent: its address is not allowed, can't be found or can't be reached */
  | 'unreachable'
  /** it was sent, and no answer came, or only a part of one: nobody knows what the provider has done */
  | 'unanswered'
  /** the answer is none of OAuth: a 5xx, a redirect, HTML, not what was asked for */
  | 'unusable'
  /** an OAuth error, named by `error`: the provider has understood and says no */
  | 'refused'

/**
 * `message` is a clause for people, "answered 503", with nothing in it that the provider could have put there but a
 * plain error code.
 */
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

/**
 * What may be said of an error, as such a clause: only of what was written for people is it known that there is no
 * token in it.
 */
export function clauseOf(error: unknown): string {
  return error instanceof OAuthFailure ? error.message : `could not be asked (${(error as Error).name})`
}

/** A call that the caller waits for could not be made; it may succeed later. `what` has happened: a sentence. */
export class OAuthUnavailableError extends DomainError {
  constructor(what: string) {
    super('OAUTH_PROVIDER_UNAVAILABLE', `${what} Try again later.`)
  }
}

/** The same of a provider that there is here already. `provider`: its name. */
export class OAuthProviderUnavailableError extends OAuthUnavailableError {
  constructor(provider: string, failure: OAuthFailure) {
    super(`The OAuth provider '${provider}' ${failure.message}.`)
  }
}

/** All that a call at a provider needs, decrypted. Never logged, never stored as it is. */
export interface ProviderAccess {
  providerType: ProviderType | null
  clientId: string
  clientSecret: string | null
  tokenEndpointAuthMethod: AuthMethod
  authUrl: string
  tokenUrl: string
  usesPkce: boolean
  /** known of a provider that was discovered: then a call-back must name no other (RFC 9207) */
  issuer: string | null
  /** what tokens are asked for (RFC 8707); null: the provider knows */
  resource: string | null
}

/** Whose token it is, as the provider tells it. */
export interface Account {
  /** stable at the provider */
  id: string
  /** for people: an e-mail address, a name */
  label: string
}

export interface TokenSet {
  accessToken: string
  /** as the provider spells it; mostly `bearer` */
  tokenType: string
  refreshToken: string | null
  /** seconds, ten years at most, so that it ends on a date that can be stored; null: the provider does not say */
  expiresIn: number | null
  /** null: those that were asked for (RFC 6749, 5.1) */
  scopes: string[] | null
  /** null: the answer does not tell */
  account: Account | null
}

/** What a provider publishes of itself (RFC 8414, OpenID Connect Discovery). */
export interface PublishedEndpoints {
  issuer: string | null
  revocationUrl: string | null
  userinfoUrl: string | null
}

/** An MCP server's authorization server, and the client that was registered there. */
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
   * Why calls of ours to this address would be refused, as far as the address itself tells: "must be https …". Null:
   * they wouldn't; where its name leads is looked at with each call.
   */
  refusal(url: string): string | null
  /** A new PKCE code verifier (RFC 7636). */
  codeVerifier(): Promise<string>
  /** Where the person is sent. `codeVerifier`: null without PKCE. No call is made. */
  authorizationUrl(
    access: ProviderAccess,
    request: { redirectUri: string; state: string; codeVerifier: string | null; scopes: readonly string[] },
  ): Promise<string>
  /**
   * Exchanges the code that a call-back brought. `callback`: its parameters, whose state is `state` by then; not an
   * error.
   */
  exchange(
    access: ProviderAccess,
    grant: { callback: URLSearchParams; state: string; redirectUri: string; codeVerifier: string | null },
  ): Promise<TokenSet>
  /** Uses a refresh token. `patience`: ms for the answer. */
  refresh(access: ProviderAccess, refreshToken: string, patience: number): Promise<TokenSet>
  /** Revokes a token (RFC 7009). A token that the provider does not know any more counts as revoked. */
  revoke(
    access: ProviderAccess,
    revocationUrl: string,
    token: { value: string; hint: 'access_token' | 'refresh_token' },
  ): Promise<void>
  /**
   * Looks for the metadata that belongs to these endpoints. All null: none was found. Throws only when nobody could be
   * asked.
   */
  published(access: ProviderAccess): Promise<PublishedEndpoints>
  /** Asks whose token it is. Null: the answer does not tell. */
  userinfo(access: ProviderAccess, userinfoUrl: string, accessToken: string): Promise<Account | null>
  /**
   * Finds the authorization server of an MCP server and registers a client there (RFC 9728, 8414, 7591). Throws no
   * OAuthFailure, but McpDiscoveryError and McpUnavailableError.
   */
  registerForMcp(mcpServerUrl: string, client: { name: string; redirectUri: string }): Promise<RegisteredClient>
}

/**
 * An MCP server that does not offer what is needed: for its operator, or the caller, to mend. `message` is a sentence.
 */
export class McpDiscoveryError extends Error {}

/**
 * An MCP server, or the authorization server it names, that could not be asked: it may be later. `message`: as above.
 */
export class McpUnavailableError extends Error {}
