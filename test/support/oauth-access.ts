/** A client at a test provider, and a person who goes through its flow. */
import type { OAuthClient, ProviderAccess, TokenSet } from '../../src/domain/ports/oauth-client.ts'
import type { OutboundFailure } from '../../src/platform/http/outbound-failure.ts'
import type { ClientAuth, OAuthServer } from './oauth-server.ts'

export const REDIRECT_URI = 'https://pilothouse.test/v2/auth/callback/acme'

/** Registers a client and returns its credentials. */
export async function accessAt(
  server: OAuthServer,
  how: { method?: ClientAuth; secret?: string } & Partial<ProviderAccess> = {},
): Promise<ProviderAccess> {
  const { method = 'client_secret_basic', secret, ...rest } = how
  const requirePkce = rest.usesPkce ?? true
  const registered = await server.client({
    method,
    redirectUri: REDIRECT_URI,
    requirePkce,
    ...(secret !== undefined && { secret }),
  })
  return {
    providerType: null,
    tokenEndpointAuthMethod: method,
    authUrl: server.authUrl,
    tokenUrl: server.tokenUrl,
    usesPkce: true,
    issuer: null,
    resource: null,
    ...registered,
    ...rest,
  }
}

/** The input of a callback: a person was sent to the provider and has returned. */
export interface CameBack {
  callback: URLSearchParams
  state: string
  redirectUri: string
  codeVerifier: string | null
}

export async function cameBack(
  oauth: OAuthClient,
  server: OAuthServer,
  access: ProviderAccess,
  how: { scopes?: string[]; account?: string; decline?: boolean } = {},
): Promise<CameBack> {
  const state = 'state-of-this-request'
  const codeVerifier = access.usesPkce ? await oauth.codeVerifier() : null
  const { scopes = ['openid', 'email', 'read'], ...visit } = how
  const request = { redirectUri: REDIRECT_URI, state, codeVerifier, scopes }
  const landed = await server.visit(await oauth.authorizationUrl(access, request), visit)
  return { callback: new URL(landed).searchParams, state, redirectUri: REDIRECT_URI, codeVerifier }
}

/** The tokens of a person who completed the flow. */
export async function tokensOf(
  oauth: OAuthClient,
  server: OAuthServer,
  access: ProviderAccess,
  how: { scopes?: string[]; account?: string } = {},
): Promise<TokenSet & { refreshToken: string }> {
  const tokens = await oauth.exchange(access, await cameBack(oauth, server, access, how))
  if (tokens.refreshToken === null) throw new Error('the provider issued no refresh token')
  return { ...tokens, refreshToken: tokens.refreshToken }
}

/** The failure of a call that must fail. */
export const failureOf = (call: Promise<unknown>): Promise<OutboundFailure> =>
  call.then(
    () => Promise.reject(new Error('it went well')),
    (error) => error,
  )

/** An id_token with these claims. Its signature is not checked. */
export const idToken = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`
