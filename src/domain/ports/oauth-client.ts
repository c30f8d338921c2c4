/** Port: OAuth providers and MCP servers. Calls throw OutboundFailure; none belongs in a transaction. */
import type { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { DomainError } from '../errors/errors.ts'
import type { AuthMethod, ProviderType } from '../values/oauth-provider.ts'

/** The provider cannot be called now. `cause`: a sentence. */
export class OAuthUnavailableError extends DomainError {
  constructor(cause: string) {
    super('OAUTH_PROVIDER_UNAVAILABLE', `${cause} Try again later.`)
  }
}

export class OAuthProviderUnavailableError extends OAuthUnavailableError {
  constructor(provider: string, failure: OutboundFailure) {
    super(`The OAuth provider '${provider}' ${failure.message}.`)
  }
}

/** Decrypted: never log or store it. */
export interface ProviderAccess {
  providerType: ProviderType | null
  clientId: string
  clientSecret: string | null
  tokenEndpointAuthMethod: AuthMethod
  authUrl: string
  tokenUrl: string
  usesPkce: boolean
  /** known for a discovered provider; a callback with another issuer is rejected (RFC 9207) */
  issuer: string | null
  /** the resource of the tokens (RFC 8707); null: the provider's default */
  resource: string | null
}

/** `id`: stable at the provider · `label`: an e-mail address or a name */
export interface Account {
  id: string
  label: string
}

export interface TokenSet {
  accessToken: string
  /** as the provider spells it, usually `bearer` */
  tokenType: string
  refreshToken: string | null
  /** seconds, at most ten years, so the date can be stored; null: not in the answer */
  expiresIn: number | null
  /** null: all requested scopes (RFC 6749, 5.1) */
  scopes: string[] | null
  account: Account | null
}

/** A provider's published metadata (RFC 8414, OpenID Connect Discovery). */
export interface PublishedEndpoints {
  issuer: string | null
  revocationUrl: string | null
  userinfoUrl: string | null
}

/** A client that was registered at the authorization server of an MCP server. */
export interface RegisteredClient {
  clientId: string
  clientSecret: string | null
  tokenEndpointAuthMethod: AuthMethod
  authUrl: string
  tokenUrl: string
  issuer: string
  revocationUrl: string | null
  userinfoUrl: string | null
  resource: string
}

export interface OAuthClient {
  /**
   * Why this address is not allowed, as a clause such as "must be https". Null: the address is allowed. Each call also
   * checks the addresses that it resolves to.
   */
  refusal(url: string): string | null
  codeVerifier(): Promise<string>
  /** The URL to send the person to. `codeVerifier`: null without PKCE. Makes no call. */
  authorizationUrl(
    access: ProviderAccess,
    request: { redirectUri: string; state: string; codeVerifier: string | null; scopes: readonly string[] },
  ): Promise<string>
  /** Exchanges the code of a callback. `callback`: its parameters, with this `state` and no error. */
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
  /**
   * Looks up the provider's metadata. All fields are null if none was found. Throws only if the provider cannot be
   * called.
   */
  published(access: ProviderAccess): Promise<PublishedEndpoints>
  /** Looks up the account of a token. Null: not in the answer. */
  userinfo(access: ProviderAccess, userinfoUrl: string, accessToken: string): Promise<Account | null>
  /**
   * Finds the authorization server of an MCP server and registers a client there (RFC 9728, 8414, 7591). Throws
   * McpDiscoveryError and McpUnavailableError instead of OutboundFailure.
   */
  registerForMcp(mcpServerUrl: string, client: { name: string; redirectUri: string }): Promise<RegisteredClient>
}

/** The MCP server lacks a required feature. Its operator or the caller must change that. `message`: a sentence. */
export class McpDiscoveryError extends Error {}

/** The MCP server or its authorization server cannot be called now. `message`: a sentence. */
export class McpUnavailableError extends Error {}
