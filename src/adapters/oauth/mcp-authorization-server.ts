/**
 * Finds the metadata of an MCP server's authorization server and checks the required features (RFC 8414, OpenID Connect
 * Discovery).
 */
import * as oauth from 'oauth4webapi'
import { McpDiscoveryError, McpUnavailableError, OAuthFailure } from '../../domain/ports/oauth-client.ts'
import { addressRefusal } from '../../platform/http/outbound-address.ts'
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
  issuer: string
  authUrl: string
  tokenUrl: string
  registrationUrl: string
  revocationUrl: string | null
  userinfoUrl: string | null
  /** null: absent, which means `client_secret_basic` (RFC 8414, 2) */
  authMethods: readonly unknown[] | null
  /** supports refresh tokens, according to its metadata */
  refreshes: boolean
}

/** `unnamed`: why the MCP server's own origin is assumed, as a sentence; null: the MCP server names this issuer. */
export async function findAuthorizationServer(
  asking: McpRequests,
  issuer: string,
  unnamed: string | null,
): Promise<UsableServer> {
  const refusal = addressRefusal(asking.rules, issuer)
  if (refusal !== null) throw new McpDiscoveryError(`The authorization server of this MCP server ${refusal}.`)
  const found = await findMetadata(asking, new URL(issuer), unnamed)
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
  const ours = (member: keyof oauth.AuthorizationServer) =>
    endpoint(found, member, (url) => addressRefusal(asking.rules, url))
  const optional = (member: keyof oauth.AuthorizationServer) => (found[member] == null ? null : ours(member))
  return {
    issuer: found.issuer,
    authUrl: ours('authorization_endpoint'),
    tokenUrl: ours('token_endpoint'),
    registrationUrl: ours('registration_endpoint'),
    revocationUrl: optional('revocation_endpoint'),
    userinfoUrl: optional('userinfo_endpoint'),
    authMethods: listed(found.token_endpoint_auth_methods_supported),
    refreshes: found.grant_types_supported == null || lists(found.grant_types_supported, 'refresh_token'),
  }
}

/** Tries the locations in the order of MCP authorization 2025-06-18, "Authorization Server Metadata Discovery". */
async function findMetadata(
  asking: McpRequests,
  issuer: URL,
  unnamed: string | null,
): Promise<oauth.AuthorizationServer> {
  // the actual problem may be that the MCP server does not name its authorization server
  const before =
    unnamed === null
      ? ''
      : `${unnamed} So its own origin was assumed to be its authorization server, as for older servers. `
  const looked: Exclude<LookupResult, { found: unknown }>[] = []
  for (const { place, ask } of metadataLocations(asking, issuer)) {
    const look = await readMetadata(issuer, ask).catch((error) => {
      throw toMcpError(asking, `${before}${UNREAD}`, issuer, error)
    })
    if ('found' in look) return look.found
    looked.push({ ...look, how: `${place} ${look.how}` })
  }
  // metadata of another issuer must not be used (RFC 8414, 3.3)
  if (looked.some(({ why }) => why === 'another issuer'))
    throw new McpDiscoveryError(`${before}${SERVER} publishes metadata of another issuer (asked ${issuer.host}).`)
  const asked = `${issuer.host}: ${looked.map(({ how }) => how).join(', ')}`
  if (looked.some(({ why }) => why === 'trouble')) throw new McpUnavailableError(`${before}${UNREAD} (asked ${asked}).`)
  const standards = 'RFC 8414, OpenID Connect Discovery'
  throw new McpDiscoveryError(`${before}${SERVER} publishes no metadata (${standards}; asked ${asked}).`)
}

type LookupResult = { found: oauth.AuthorizationServer } | { why: 'none' | 'another issuer' | 'trouble'; how: string }

async function readMetadata(issuer: URL, ask: () => Promise<Response>): Promise<LookupResult> {
  let response: Response
  try {
    response = requireAvailable(await ask())
  } catch (error) {
    // the other locations are on the same server, but only this one may fail
    if (error instanceof OAuthFailure && error.kind === 'unusable') return { why: 'trouble', how: error.message }
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
function metadataLocations(asking: McpRequests, issuer: URL): { place: string; ask(): Promise<Response> }[] {
  const options = discoveryOptions(asking)
  const openid = '/.well-known/openid-configuration'
  const inserted = new URL(issuer)
  inserted.pathname = `${openid}${issuer.pathname.replace(/\/$/, '')}`
  const atRoot = issuer.pathname === '/'
  return [
    {
      place: `/.well-known/oauth-authorization-server${atRoot ? '' : '/…'}`,
      ask: () => oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' }),
    },
    // The library only appends the path; without a path both URLs are equal.
    ...(atRoot ? [] : [{ place: `${openid}/…`, ask: () => getJson(asking, inserted.href) }]),
    {
      place: `${atRoot ? '' : '/…'}${openid}`,
      ask: () => oauth.discoveryRequest(issuer, { ...options, algorithm: 'oidc' }),
    },
  ]
}

const ENDPOINT_NAMES: Partial<Record<keyof oauth.AuthorizationServer, string>> = {
  authorization_endpoint: 'authorization endpoint',
  token_endpoint: 'token endpoint',
  registration_endpoint: 'registration endpoint',
  revocation_endpoint: 'revocation endpoint',
  userinfo_endpoint: 'userinfo endpoint',
}

/** Returns an endpoint's URL. It is checked, because an MCP server may point it anywhere. */
function endpoint(
  found: oauth.AuthorizationServer,
  member: keyof oauth.AuthorizationServer,
  refusalOf: (url: string) => string | null,
): string {
  const url: unknown = found[member]
  if (typeof url !== 'string') throw unsupported(`has no ${ENDPOINT_NAMES[member]}`)
  const refusal = refusalOf(url)
  if (refusal !== null)
    throw new McpDiscoveryError(`The ${ENDPOINT_NAMES[member]} of this MCP server’s authorization server ${refusal}.`)
  return new URL(url).href
}

const listed = (value: unknown): readonly unknown[] | null => (Array.isArray(value) ? value : null)
const lists = (value: unknown, item: string) => listed(value)?.includes(item) ?? false

const SERVER = 'The authorization server of this MCP server'
const UNREAD =
  'The metadata of this MCP server’s authorization server (RFC 8414, OpenID Connect Discovery) could not be read'

const unsupported = (what: string) => new McpDiscoveryError(`${SERVER} ${what}.`)
