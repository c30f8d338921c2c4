/** Finds and checks the metadata of an MCP server's authorization server (RFC 8414, OpenID Connect Discovery). */
import * as oauth from 'oauth4webapi'
import { McpDiscoveryError, McpUnavailableError, type RegisteredClient } from '../../domain/ports/oauth-client.ts'
import { addressRefusal } from '../../platform/http/outbound-address.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { describeNonMetadata } from './failure.ts'
import {
  discoveryOptions,
  getJson,
  IDENTIFIER,
  type McpRequests,
  requireAvailable,
  toMcpError,
} from './mcp-requests.ts'

export interface UsableServer {
  published: Pick<RegisteredClient, 'issuer' | 'authUrl' | 'tokenUrl' | 'revocationUrl' | 'userinfoUrl'>
  registrationUrl: string
  /** null: absent, which means `client_secret_basic` (RFC 8414, 2) */
  authMethods: readonly unknown[] | null
  /** supports refresh tokens, according to its metadata */
  refreshes: boolean
}

/** `unnamed`: why the MCP server's own origin is assumed, as a sentence; null: the MCP server names this issuer. */
export async function findAuthorizationServer(
  requests: McpRequests,
  issuer: string,
  unnamed: string | null,
): Promise<UsableServer> {
  const refusal = addressRefusal(requests.rules, issuer)
  if (refusal !== null) throw new McpDiscoveryError(`The authorization server of this MCP server ${refusal}.`)
  const found = await findMetadata(requests, new URL(issuer), unnamed)
  if (!lists(found.code_challenge_methods_supported, 'S256'))
    throw unsupported(
      'does not say that it supports PKCE with S256 (code_challenge_methods_supported), which MCP asks for',
    )
  if (found.response_types_supported != null && !lists(found.response_types_supported, 'code'))
    throw unsupported('does not offer the authorization code flow (response_types_supported)')
  if (found.registration_endpoint == null)
    throw unsupported(
      'registers no clients by itself. Register one there, and create the provider with it (POST /v2/auth/providers)',
    )
  const checkedEndpoint = (member: keyof oauth.AuthorizationServer) =>
    endpoint(found, member, (url) => addressRefusal(requests.rules, url))
  const optional = (member: keyof oauth.AuthorizationServer) => (found[member] == null ? null : checkedEndpoint(member))
  const authUrl = checkedEndpoint('authorization_endpoint')
  const tokenUrl = checkedEndpoint('token_endpoint')
  const registrationUrl = checkedEndpoint('registration_endpoint')
  return {
    published: {
      issuer: found.issuer,
      authUrl,
      tokenUrl,
      revocationUrl: optional('revocation_endpoint'),
      userinfoUrl: optional('userinfo_endpoint'),
    },
    registrationUrl,
    authMethods: listed(found.token_endpoint_auth_methods_supported),
    refreshes: found.grant_types_supported == null || lists(found.grant_types_supported, 'refresh_token'),
  }
}

/** Tries the locations in the order of MCP authorization 2025-06-18, "Authorization Server Metadata Discovery". */
async function findMetadata(
  requests: McpRequests,
  issuer: URL,
  unnamed: string | null,
): Promise<oauth.AuthorizationServer> {
  // the actual problem may be that the MCP server does not name its authorization server
  const before =
    unnamed === null
      ? ''
      : `${unnamed} So its own origin was assumed to be its authorization server, as for older servers. `
  const attempts: Exclude<LookupResult, { found: unknown }>[] = []
  for (const { place, request } of metadataLocations(requests, issuer)) {
    const result = await readMetadata(issuer, request).catch((error) => {
      throw toMcpError(requests, `${before}${UNREAD}`, issuer, error)
    })
    if ('found' in result) return result.found
    attempts.push({ ...result, how: `${place} ${result.how}` })
  }
  // metadata of another issuer must not be used (RFC 8414, 3.3)
  if (attempts.some(({ why }) => why === 'another issuer'))
    throw new McpDiscoveryError(`${before}${SERVER} publishes metadata of another issuer (asked ${issuer.host}).`)
  const attempted = `${issuer.host}: ${attempts.map(({ how }) => how).join(', ')}`
  if (attempts.some(({ why }) => why === 'trouble'))
    throw new McpUnavailableError(`${before}${UNREAD} (asked ${attempted}).`)
  const standards = 'RFC 8414, OpenID Connect Discovery'
  throw new McpDiscoveryError(`${before}${SERVER} publishes no metadata (${standards}; asked ${attempted}).`)
}

type LookupResult = { found: oauth.AuthorizationServer } | { why: 'none' | 'another issuer' | 'trouble'; how: string }

async function readMetadata(issuer: URL, request: () => Promise<Response>): Promise<LookupResult> {
  let response: Response
  try {
    response = requireAvailable(await request())
  } catch (error) {
    // the other locations are on the same server, but only this one may fail
    if (error instanceof OutboundFailure && error.kind === 'unusable') return { why: 'trouble', how: error.message }
    throw error
  }
  const copy = response.clone()
  try {
    const found = await oauth.processDiscoveryResponse(issuer, response)
    if (IDENTIFIER.test(found.issuer)) return { found }
  } catch (error) {
    if (error instanceof oauth.OperationProcessingError && error.code === oauth.JSON_ATTRIBUTE_COMPARISON)
      return { why: 'another issuer', how: 'answered with another issuer' }
  }
  return { why: 'none', how: await describeNonMetadata(copy) }
}

/** `place` is for messages. It omits the issuer's path, because that is the MCP server's text. */
function metadataLocations(requests: McpRequests, issuer: URL): { place: string; request(): Promise<Response> }[] {
  const options = discoveryOptions(requests)
  const openid = '/.well-known/openid-configuration'
  const inserted = new URL(issuer)
  inserted.pathname = `${openid}${issuer.pathname.replace(/\/$/, '')}`
  const atRoot = issuer.pathname === '/'
  return [
    {
      place: `/.well-known/oauth-authorization-server${atRoot ? '' : '/…'}`,
      request: () => oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
    },
    // The library only appends the path; without a path both URLs are equal.
    ...(atRoot ? [] : [{ place: `${openid}/…`, request: () => getJson(requests, inserted.href) }]),
    {
      place: `${atRoot ? '' : '/…'}${openid}`,
      request: () => oauth.discoveryRequest(issuer, { ...options, algorithm: 'oidc' }),
    },
  ]
}

/** Returns an endpoint's URL. It is checked, because an MCP server may point it anywhere. */
function endpoint(
  found: oauth.AuthorizationServer,
  member: keyof oauth.AuthorizationServer,
  refusalOf: (url: string) => string | null,
): string {
  const url: unknown = found[member]
  const name = String(member).replace('_', ' ')
  if (typeof url !== 'string') throw unsupported(`has no ${name}`)
  const refusal = refusalOf(url)
  if (refusal !== null) throw new McpDiscoveryError(`The ${name} of this MCP server’s authorization server ${refusal}.`)
  return new URL(url).href
}

const listed = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null)
const lists = (value: unknown, item: string) => listed(value)?.includes(item) ?? false

const SERVER = 'The authorization server of this MCP server'
const UNREAD =
  'The metadata of this MCP server’s authorization server (RFC 8414, OpenID Connect Discovery) could not be read'

const unsupported = (what: string) => new McpDiscoveryError(`${SERVER} ${what}.`)
