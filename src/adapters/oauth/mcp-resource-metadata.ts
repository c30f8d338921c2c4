/**
 * What an MCP server publishes of itself as a protected resource: its identifier, and who issues tokens for it (RFC
 * 9728).
 */
import * as oauth from 'oauth4webapi'
import { McpDiscoveryError, OAuthFailure } from '../../domain/ports/oauth-client.ts'
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
import { WrongAddressFailure } from './network-failure.ts'

export interface ProtectedResource {
  /** as the server spells it */
  resource: string
  /** issuers of authorization servers, the preferred first; at least one */
  issuers: string[]
  /** a sentence on why the server names none, so that it is taken for its own; null: it names them */
  unnamed: string | null
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** An MCP server may name many, and each costs us calls. */
const MAX_ISSUERS = 3

/**
 * Reads the metadata where the server's challenge says, otherwise at the well-known places (MCP authorization
 * 2025-06-18, "Authorization Server Discovery"). Where it names no authorization server, the one at its own origin is
 * meant (MCP authorization 2025-03-26). Throws McpDiscoveryError, McpUnavailableError.
 */
export async function findProtectedResource(asking: McpRequests, server: URL): Promise<ProtectedResource> {
  const { published, absence } = await findResourceMetadata(asking, server)
  if (published && !coversServer(published.resource, server))
    throw new McpDiscoveryError('The metadata of this MCP server is that of another resource.')
  const issuers = Array.isArray(published?.authorization_servers) ? published.authorization_servers : []
  const named = issuers.filter((issuer) => typeof issuer === 'string').slice(0, MAX_ISSUERS)
  const resource = published?.resource ?? canonicalUri(server)
  if (named.length > 0) return { resource, issuers: named, unnamed: null }
  const unnamed = absence ?? `${METADATA} names no authorization server.`
  return { resource, issuers: [server.origin], unnamed }
}

const METADATA = 'This MCP server’s protected-resource metadata (RFC 9728)'
const UNREAD = `${METADATA} could not be read`

/** What it publishes, or, as a sentence, that it publishes nothing. */
type Published = { published: oauth.ResourceServer; absence?: undefined } | { published?: undefined; absence: string }

async function findResourceMetadata(asking: McpRequests, server: URL): Promise<Published> {
  const address = await metadataUrlFromChallenge(asking, server)
  if (address !== null) {
    const refusal = addressRefusal(asking.rules, address)
    if (refusal !== null) throw new McpDiscoveryError(`The address of this MCP server’s metadata ${refusal}.`)
    const { published, how } = await readMetadata(getJson(asking, address)).catch((error) => {
      throw toMcpError(asking, UNREAD, address, error)
    })
    if (published) return { published }
    const { host } = new URL(address)
    throw new McpDiscoveryError(
      `Where this MCP server says that its protected-resource metadata is (RFC 9728), there is none: ${host} ${how}.`,
    )
  }
  const asked: string[] = []
  // at the root: where MCP servers put it that know of no path
  for (const place of new Set([server.href, `${server.origin}/`])) {
    const url = new URL(place)
    const looked = readMetadata(oauth.resourceDiscoveryRequest(url, discoveryOptions(asking)))
    const { published, how } = await looked.catch((error) => {
      throw toServerError(asking, UNREAD, server, error)
    })
    if (published) return { published }
    asked.push(`${WELL_KNOWN}${url.pathname === '/' ? '' : url.pathname} ${how}`)
  }
  const all = `${server.host}: ${asked.join(', ')}`
  return { absence: `This MCP server publishes no protected-resource metadata (RFC 9728; asked ${all}).` }
}

/** As `unavailable`, of the server that the caller has named: a wrong name is the caller's to mend. */
function toServerError(asking: McpRequests, what: string, server: URL, error: unknown): unknown {
  if (error instanceof WrongAddressFailure) return new McpDiscoveryError(`This MCP server ${error.message}.`)
  return toMcpError(asking, what, server, error)
}

/** A call that needs no session, and starts none (MCP, "Lifecycle"). */
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/**
 * The part of all the time that it is given: the well-known places may answer where the server itself never ends its
 * answer.
 */
const PING_SHARE = 1 / 4

/** Where the server says that its metadata is, when it is called without a token; null: it doesn't say. */
async function metadataUrlFromChallenge(asking: McpRequests, server: URL): Promise<string | null> {
  const { outbound, timeoutMs, signal } = asking
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const ping = { method: 'POST', headers, body: PING, signal, timeoutMs: timeoutMs * PING_SHARE }
  const answer = await outbound.fetch(server.href, ping).catch((error) => {
    if (error instanceof OAuthFailure && error.kind === 'unanswered') return null
    throw toServerError(asking, 'This MCP server could not be asked', server, error)
  })
  const header = answer?.status === 401 ? answer.headers.get('www-authenticate') : null
  if (!header) return null
  const addresses = (await parseChallenges(header)).map(({ parameters }) => parameters.resource_metadata)
  return addresses.find((address) => address !== undefined) ?? null
}

/** The library has its parser behind the answers that it knows; that to a revocation has the least else to it. */
async function parseChallenges(header: string): Promise<oauth.WWWAuthenticateChallenge[]> {
  const answer = new Response(null, { status: 401, headers: { 'www-authenticate': header } })
  try {
    await oauth.processRevocationResponse(answer)
  } catch (error) {
    if (error instanceof oauth.WWWAuthenticateChallengeError) return error.cause
  }
  return []
}

/** Or, as a clause, how it is none: a 404, a web page. */
type Answer = { published: oauth.ResourceServer; how?: undefined } | { published?: undefined; how: string }

async function readMetadata(asked: Promise<Response>): Promise<Answer> {
  const response = requireAvailable(await asked)
  const copy = response.clone()
  try {
    // it may be of a parent of the server, so that what is to be expected is only known now; `covers` judges it
    const { resource } = await response.clone().json()
    return { published: await oauth.processResourceDiscoveryResponse(new URL(resource), response) }
  } catch {
    return { how: await describeNonMetadata(copy) }
  }
}

/**
 * Whether tokens for this resource are tokens for the server: it is the server itself, or a parent at the same origin.
 */
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
 * What a server is called that does not say it itself (MCP authorization, "Canonical Server URI"): no slash where there
 * is no path.
 */
const canonicalUri = ({ pathname, search, origin, href }: URL) => (pathname === '/' && search === '' ? origin : href)
