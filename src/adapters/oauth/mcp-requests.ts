/** How the discovery of an MCP server makes its calls: each guarded, all of them together within one deadline. */
import * as oauth from 'oauth4webapi'
import { McpUnavailableError, OAuthFailure } from '../../domain/ports/oauth-client.ts'
import type { OutboundRules } from '../../platform/http/outbound-address.ts'
import type { Outbound } from './guarded-fetch.ts'

export interface McpRequests {
  outbound: Outbound
  rules: OutboundRules
  /** ms for all of it */
  timeoutMs: number
  /** aborts when they are over */
  signal: AbortSignal
}

/** For requests of the library that only read. http: whether it is allowed, the guard decides. */
export const discoveryOptions = ({ outbound, signal }: McpRequests) => ({
  [oauth.customFetch]: outbound.get,
  [oauth.allowInsecureRequests]: true,
  signal,
})

/** For a document that the library knows no place of. */
export const getJson = ({ outbound, signal }: McpRequests, url: string): Promise<Response> =>
  outbound.get(url, { headers: { accept: 'application/json' }, signal })

/** What a server says when it is down tells nothing of what it has: it may be asked again later. */
export function requireAvailable(response: Response): Response {
  if (response.status >= 500 || response.status === 429)
    throw new OAuthFailure('unusable', `answered ${response.status}`)
  return response
}

/**
 * What to throw for an error of a call: what is no OAuthFailure stays as it is. `what`: has come to nothing; `url`: that
 * was asked, of which no more than the host is shown: the rest may be another server's text.
 */
export function toMcpError(
  { signal, timeoutMs }: McpRequests,
  what: string,
  url: URL | string,
  error: unknown,
): unknown {
  if (!(error instanceof OAuthFailure)) return error
  const late = `did not answer in time (all calls together have ${timeoutMs / 1000} s)`
  return new McpUnavailableError(`${what}: ${new URL(url).host} ${signal.aborted ? late : error.message}.`)
}

/** Nothing but what a URL is made of: names of servers are stored, sent and compared as they are. */
export const IDENTIFIER = /^[!-~]+$/
