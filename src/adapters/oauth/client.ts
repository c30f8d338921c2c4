/** The OAuth client, on top of oauth4webapi. Every call uses the guarded fetch (README.md). */
import * as oauth from 'oauth4webapi'
import type { Account, OAuthClient, ProviderAccess } from '../../domain/ports/oauth-client.ts'
import type { ResolveHost } from '../../platform/http/guarded-connect.ts'
import { createOutbound, type Outbound } from '../../platform/http/guarded-fetch.ts'
import { addressRefusal, type OutboundRules } from '../../platform/http/outbound-address.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { readJsonObject, requireUsableStatus, toOutboundFailure } from './failure.ts'
import { registerForMcp } from './mcp-discovery.ts'
import { findEndpoints } from './server-metadata.ts'
import { accountFromClaims, readTokenSet, scopeParameters } from './token-response.ts'

/** A code can't be used twice, so the exchange waits longer for a slow provider. */
const TIMEOUT_MS = { exchange: 30_000, revoke: 10_000, userinfo: 10_000 }

/** Placeholder for an unknown issuer. The library requires one, but compares it with nothing that reaches it. */
const NO_ISSUER = 'https://issuer.invalid'

/** `resolve`: host name look-up; default: the system's. */
export function createOAuthClient(rules: OutboundRules, resolve?: ResolveHost): OAuthClient {
  const outbound = createOutbound(rules, resolve)
  return {
    refusal: (url) => addressRefusal(rules, url),
    codeVerifier: async () => oauth.generateRandomCodeVerifier(),
    authorizationUrl,
    exchange: (access, grant) => exchange(outbound, access, grant),
    async refresh(access, refreshToken, timeoutMs) {
      const { server, client, authentication } = oauthParties(access)
      const options = { ...requestOptions(outbound, timeoutMs), additionalParameters: resourceParameter(access) }
      const pendingResponse = oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken, options)
      return readTokenSet(pendingResponse, server, client, access.providerType)
    },
    revoke: (access, revocationUrl, token) => revoke(outbound, access, revocationUrl, token),
    published: (access) => findEndpoints(rules, outbound, access),
    userinfo: (access, userinfoUrl, accessToken) => userinfo(outbound, access, userinfoUrl, accessToken),
    registerForMcp: (mcpServerUrl, client) => registerForMcp(outbound, rules, mcpServerUrl, client),
  }
}

const authorizationUrl: OAuthClient['authorizationUrl'] = async (access, request) => {
  // keeps parameters that the configured URL contains, such as `?prompt=consent`
  const url = new URL(access.authUrl)
  const parameters = {
    response_type: 'code',
    client_id: access.clientId,
    redirect_uri: request.redirectUri,
    state: request.state,
    ...scopeParameters(access.providerType, request.scopes),
    ...resourceParameter(access),
    ...(request.codeVerifier !== null && {
      code_challenge: await oauth.calculatePKCECodeChallenge(request.codeVerifier),
      code_challenge_method: 'S256',
    }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

async function exchange(
  outbound: Outbound,
  access: ProviderAccess,
  grant: Parameters<OAuthClient['exchange']>[1],
): ReturnType<OAuthClient['exchange']> {
  const { server, client, authentication } = oauthParties(access)
  const callback = validateCallback(access, server, client, grant)
  const options = { ...requestOptions(outbound, TIMEOUT_MS.exchange), additionalParameters: resourceParameter(access) }
  const verifier = grant.codeVerifier ?? oauth.nopkce
  const pendingResponse = oauth.authorizationCodeGrantRequest(
    server,
    client,
    authentication,
    callback,
    grant.redirectUri,
    verifier,
    options,
  )
  return readTokenSet(pendingResponse, server, client, access.providerType)
}

/** Compares `iss` with a known issuer (RFC 9207). Otherwise the separate redirect URIs protect (RFC 9700, 4.4.2.2). */
function validateCallback(
  access: ProviderAccess,
  server: oauth.AuthorizationServer,
  client: oauth.Client,
  { callback, state }: { callback: URLSearchParams; state: string },
): URLSearchParams {
  const parameters = new URLSearchParams(callback)
  if (access.issuer === null) parameters.delete('iss')
  try {
    const valid = oauth.validateAuthResponse(server, client, parameters, state)
    if (valid.get('code')) return valid
  } catch (error) {
    const failure = toOutboundFailure(error, 'a call-back')
    if (failure.kind === 'refused') throw failure
  }
  const iss = parameters.get('iss')
  throw new OutboundFailure(
    'unusable',
    iss !== null && iss !== access.issuer
      ? 'did not send this callback: its iss names another issuer'
      : 'sent the person back with another response type than requested',
  )
}

async function revoke(
  outbound: Outbound,
  access: ProviderAccess,
  revocationUrl: string,
  { value, hint }: { value: string; hint: string },
): Promise<void> {
  const { server, client, authentication } = oauthParties(access)
  const at = { ...server, revocation_endpoint: revocationUrl }
  const options = { ...requestOptions(outbound, TIMEOUT_MS.revoke), additionalParameters: { token_type_hint: hint } }
  try {
    const response = await oauth.revocationRequest(at, client, authentication, value, options)
    // some providers respond 204
    if (response.ok) return
    // A challenge (401) hides the error code from the library, so the code is read from the body.
    const { error } = await readJsonObject(response, 'a revocation')
    if (typeof error !== 'string') throw new OutboundFailure('unusable', `answered ${response.status}`)
    await oauth.processRevocationResponse(Response.json({ error }, { status: response.status }))
  } catch (error) {
    const failure = toOutboundFailure(error, 'a revocation')
    // The provider does not know the token or can't revoke its type (RFC 7009, 2.2 and 2.2.1): a retry is useless.
    if (failure.error === 'invalid_token' || failure.error === 'unsupported_token_type') return
    throw failure
  }
}

async function userinfo(
  outbound: Outbound,
  access: ProviderAccess,
  userinfoUrl: string,
  accessToken: string,
): Promise<Account | null> {
  const { server, client } = oauthParties(access)
  const at = { ...server, userinfo_endpoint: userinfoUrl }
  try {
    const response = await oauth.userInfoRequest(at, client, accessToken, requestOptions(outbound, TIMEOUT_MS.userinfo))
    return accountFromClaims(
      await oauth.processUserInfoResponse(at, client, oauth.skipSubjectCheck, requireUsableStatus(response)),
    )
  } catch (error) {
    // a response without `sub`: some providers identify accounts differently
    if (error instanceof oauth.OperationProcessingError && error.code === oauth.INVALID_RESPONSE) return null
    throw toOutboundFailure(error, 'an account')
  }
}

function oauthParties({ issuer, tokenUrl, clientId, clientSecret, tokenEndpointAuthMethod: method }: ProviderAccess) {
  const server: oauth.AuthorizationServer = { issuer: issuer ?? NO_ISSUER, token_endpoint: tokenUrl }
  const client: oauth.Client = { client_id: clientId }
  if (method === 'none' || clientSecret === null) return { server, client, authentication: oauth.None() }
  const authenticate = method === 'client_secret_post' ? oauth.ClientSecretPost : basicAuthentication
  return { server, client, authentication: authenticate(clientSecret) }
}

/**
 * Basic authentication by RFC 6749 (2.3.1): form-encoded first. The library's own function also encodes `-`, `.` and `_`, which
 * ids and secrets often contain. That breaks providers that do not decode (github.com/panva/oauth4webapi/issues/148).
 */
export function basicAuthentication(clientSecret: string): oauth.ClientAuth {
  const encoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
  return (_server, client, _body, headers) => {
    headers.set('authorization', `Basic ${btoa(`${encoded(client.client_id)}:${encoded(clientSecret)}`)}`)
  }
}

const resourceParameter = ({ resource }: ProviderAccess): Record<string, string> =>
  resource === null ? {} : { resource }

/** The guarded fetch decides whether http is allowed. */
function requestOptions(outbound: Outbound, timeoutMs: number) {
  return {
    [oauth.customFetch]: (url: string, init: Parameters<Outbound['fetch']>[1]) =>
      outbound.fetch(url, { ...init, timeoutMs }),
    [oauth.allowInsecureRequests]: true,
  }
}
