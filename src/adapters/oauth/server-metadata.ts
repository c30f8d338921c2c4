/** Finds the authorization server metadata of a manually configured provider (RFC 8414, OpenID Connect Discovery). */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi'
import type { ProviderAccess, PublishedEndpoints } from '../../domain/ports/oauth-client.ts'
import type { Outbound } from '../../platform/http/guarded-fetch.ts'
import { addressRefusal, type OutboundRules } from '../../platform/http/outbound-address.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { toOutboundFailure } from './failure.ts'

/** Each costs two concurrent requests. */
const MAX_ISSUERS = 5
const TIMEOUT_MS = 10_000

/**
 * Reads metadata at the issuers that the two URLs suggest and uses the one whose `token_endpoint` equals the configured URL. All
 * null: none found. Throws OutboundFailure when none was found and the token endpoint's server could not be reached.
 */
export async function findEndpoints(
  rules: OutboundRules,
  outbound: Outbound,
  access: Pick<ProviderAccess, 'authUrl' | 'tokenUrl'>,
): Promise<PublishedEndpoints> {
  const lookups = candidateIssuers(access).flatMap((issuer) =>
    (['oauth2', 'oidc'] as const).map(async (algorithm) => ({
      issuer,
      ...(await readMetadata(outbound, issuer, algorithm)),
    })),
  )
  const answers = await Promise.all(lookups)
  const found = answers.find(({ metadata }) => metadata?.token_endpoint === access.tokenUrl)
  const { origin } = new URL(access.tokenUrl)
  if (!found?.metadata) {
    const unreachable = answers.find(({ issuer, failure }) => failure && issuer.origin === origin)
    if (unreachable?.failure) throw unreachable.failure
    return { issuer: null, revocationUrl: null, userinfoUrl: null }
  }
  const { issuer, revocation_endpoint, userinfo_endpoint } = found.metadata
  // Tokens may be sent only to the token endpoint's origin, or to a URL that metadata of that origin names. Otherwise anyone who
  // can set `auth_url` could send other people's tokens to their own server.
  const isOwn = (url: string) => found.issuer.origin === origin || (URL.canParse(url) && new URL(url).origin === origin)
  const usable = (url: unknown) =>
    typeof url === 'string' && isOwn(url) && addressRefusal(rules, url) === null ? url : null
  return { issuer, revocationUrl: usable(revocation_endpoint), userinfoUrl: usable(userinfo_endpoint) }
}

/** Both origins with path parts that may name a tenant (`https://id.test/realms/a`). Shortest and most common first. */
export function candidateIssuers({ authUrl, tokenUrl }: Pick<ProviderAccess, 'authUrl' | 'tokenUrl'>): URL[] {
  const both = [new URL(tokenUrl), new URL(authUrl)].map((url) => urlPrefixes(url))
  const depth = Math.max(...both.map((prefixes) => prefixes.length))
  const all = Array.from({ length: depth }, (_, i) => both.flatMap((prefixes) => prefixes[i] ?? [])).flat()
  const unique = [...new Set(all)]
  // the common prefix of two paths on one server is more likely than the rest
  const common = unique.filter((prefix) => both.every((prefixes) => prefixes.includes(prefix)))
  return [...new Set([...common, ...unique])].slice(0, MAX_ISSUERS).map((prefix) => new URL(prefix))
}

function urlPrefixes(url: URL): string[] {
  const parts = url.pathname.split('/').filter((part) => part !== '')
  // the last part is the endpoint itself
  const longer = parts.slice(0, -1).map((_, i) => [url.origin, ...parts.slice(0, i + 1)].join('/'))
  return [url.origin, ...longer]
}

/** Neither member: no metadata of this issuer. Redirects are not followed: only the issuer may publish its metadata. */
async function readMetadata(
  outbound: Outbound,
  issuer: URL,
  algorithm: 'oauth2' | 'oidc',
): Promise<{ metadata?: AuthorizationServer; failure?: OutboundFailure }> {
  const fetchWithTimeout = (url: string, init: { headers: Record<string, string> }) =>
    outbound.fetch(url, { headers: init.headers, timeoutMs: TIMEOUT_MS })
  const options = { algorithm, [customFetch]: fetchWithTimeout, [allowInsecureRequests]: true }
  let response: Response
  try {
    response = await discoveryRequest(issuer, options)
  } catch (error) {
    return { failure: toOutboundFailure(error, 'metadata') }
  }
  // a failing server says nothing about its metadata
  if (response.status >= 500) return { failure: new OutboundFailure('unusable', `answered ${response.status}`) }
  try {
    return { metadata: await processDiscoveryResponse(issuer, response) }
  } catch {
    return {}
  }
}
