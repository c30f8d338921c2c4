/** Reads an MCP server's protected-resource metadata: its identifier and its authorization servers (RFC 9728). */
import * as oauth from 'oauth4webapi'
import { McpDiscoveryError } from '../../domain/ports/oauth-client.ts'
import { addressRefusal } from '../../platform/http/outbound-address.ts'
import { OutboundFailure, WrongAddressFailure } from '../../platform/http/outbound-failure.ts'
import { describeNonMetadata } from './failure.ts'
import {
  discoveryOptions,
  getJson,
  IDENTIFIER,
  type McpRequests,
  requireAvailable,
  toMcpError,
} from './mcp-requests.ts'

export interface ProtectedResource {
  /** in the server's spelling */
  resource: string
  /** issuers of authorization servers, most preferred first; at least one */
  issuers: string[]
  /** sentence on why the server names none, so its own origin is assumed; null: it names them */
  unnamed: string | null
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** An MCP server may name many, and each needs several requests. */
const MAX_ISSUERS = 3

/**
 * Reads the metadata at the URL of the server's challenge, otherwise at the well-known locations (MCP authorization 2025-06-18,
 * "Authorization Server Discovery"). Without a named authorization server, the server's own origin is assumed (MCP authorization
 * 2025-03-26). Throws McpDiscoveryError, McpUnavailableError.
 */
export async function findProtectedResource(requests: McpRequests, server: URL): Promise<ProtectedResource> {
  const { published, absence } = await findResourceMetadata(requests, server)
  if (published && !coversServer(published.resource, server))
    throw new McpDiscoveryError('The metadata of this MCP server names another resource.')
  const issuers = Array.isArray(published?.authorization_servers) ? published.authorization_servers : []
  const named = issuers.filter((issuer) => typeof issuer === 'string').slice(0, MAX_ISSUERS)
  const resource = published?.resource ?? canonicalUri(server)
  if (named.length > 0) return { resource, issuers: named, unnamed: null }
  const unnamed = absence ?? `${METADATA} names no authorization server.`
  return { resource, issuers: [server.origin], unnamed }
}

const METADATA = 'This MCP server’s protected-resource metadata (RFC 9728)'
const UNREAD = `${METADATA} could not be read`

type Published = { published: oauth.ResourceServer; absence?: undefined } | { published?: undefined; absence: string }

async function findResourceMetadata(requests: McpRequests, server: URL): Promise<Published> {
  const address = await metadataUrlFromChallenge(requests, server)
  if (address !== null) {
    const refusal = addressRefusal(requests.rules, address)
    if (refusal !== null) throw new McpDiscoveryError(`The address of this MCP server’s metadata ${refusal}.`)
    const { published, how } = await readMetadata(getJson(requests, address)).catch((error) => {
      throw toMcpError(requests, UNREAD, address, error)
    })
    if (published) return { published }
    const { host } = new URL(address)
    throw new McpDiscoveryError(
      `This MCP server names a URL without protected-resource metadata (RFC 9728): ${host} ${how}.`,
    )
  }
  const attempts: string[] = []
  // the root is for MCP servers that do not know of the path rule
  for (const place of new Set([server.href, `${server.origin}/`])) {
    const url = new URL(place)
    const reading = readMetadata(oauth.resourceDiscoveryRequest(url, discoveryOptions(requests)))
    const { published, how } = await reading.catch((error) => {
      throw toServerError(requests, UNREAD, server, error)
    })
    if (published) return { published }
    attempts.push(`${WELL_KNOWN}${url.pathname === '/' ? '' : url.pathname} ${how}`)
  }
  const all = `${server.host}: ${attempts.join(', ')}`
  return { absence: `This MCP server publishes no protected-resource metadata (RFC 9728; asked ${all}).` }
}

/** Like `toMcpError`, but a wrong host name is a McpDiscoveryError, because the caller entered it. */
function toServerError(requests: McpRequests, what: string, server: URL, error: unknown): unknown {
  if (error instanceof WrongAddressFailure) return new McpDiscoveryError(`This MCP server ${error.message}.`)
  return toMcpError(requests, what, server, error)
}

/** A request that neither needs nor starts a session (MCP, "Lifecycle"). */
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** Share of the total time. The well-known locations may respond even if the MCP endpoint never ends its response. */
const PING_SHARE = 1 / 4

/** The metadata URL in the challenge to a call without a token; null: none. */
async function metadataUrlFromChallenge(requests: McpRequests, server: URL): Promise<string | null> {
  const { outbound, timeoutMs, signal } = requests
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const ping = { method: 'POST', headers, body: PING, signal, timeoutMs: timeoutMs * PING_SHARE }
  const answer = await outbound.fetch(server.href, ping).catch((error) => {
    if (error instanceof OutboundFailure && error.kind === 'unanswered') return null
    throw toServerError(requests, 'This MCP server could not be asked', server, error)
  })
  const header = answer?.status === 401 ? answer.headers.get('www-authenticate') : null
  if (!header) return null
  const addresses = (await parseChallenges(header)).map(({ parameters }) => parameters.resource_metadata)
  return addresses.find((address) => address !== undefined) ?? null
}

/** The library exports no challenge parser. Processing a revocation response includes it and does little else. */
async function parseChallenges(header: string): Promise<oauth.WWWAuthenticateChallenge[]> {
  const answer = new Response(null, { status: 401, headers: { 'www-authenticate': header } })
  try {
    await oauth.processRevocationResponse(answer)
  } catch (error) {
    if (error instanceof oauth.WWWAuthenticateChallengeError) return error.cause
  }
  return []
}

type Answer = { published: oauth.ResourceServer; how?: undefined } | { published?: undefined; how: string }

async function readMetadata(pendingResponse: Promise<Response>): Promise<Answer> {
  const response = requireAvailable(await pendingResponse)
  const copy = response.clone()
  try {
    // The resource may be a parent of the server, so the expected value is known only now; `coversServer` checks it.
    const { resource } = await response.clone().json()
    return { published: await oauth.processResourceDiscoveryResponse(new URL(resource), response) }
  } catch {
    return { how: await describeNonMetadata(copy) }
  }
}

/** Whether tokens for this resource are valid for the server: the resource is the server or a parent at its origin. */
function coversServer(resource: string, server: URL): boolean {
  const { origin, pathname, search } = new URL(resource)
  const folder = (path: string) => (path.endsWith('/') ? path : `${path}/`)
  return (
    IDENTIFIER.test(resource) &&
    origin === server.origin &&
    folder(server.pathname).startsWith(folder(pathname)) &&
    (search === '' || search === server.search) &&
    !resource.includes('#')
  )
}

/**
 * The identifier of a server that publishes none: no slash for an empty path (MCP authorization, "Canonical Server
 * URI").
 */
const canonicalUri = ({ pathname, search, origin, href }: URL) => (pathname === '/' && search === '' ? origin : href)
