/** The requests of MCP discovery: each guarded, and all within one deadline. */
import * as oauth from 'oauth4webapi'
import { McpUnavailableError } from '../../domain/ports/oauth-client.ts'
import type { Outbound } from '../../platform/http/guarded-fetch.ts'
import type { OutboundRules } from '../../platform/http/outbound-address.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'

export interface McpRequests {
  outbound: Outbound
  rules: OutboundRules
  timeoutMs: number
  /** aborts at the deadline */
  signal: AbortSignal
}

/** Options for discovery requests of the library. The guarded fetch decides whether http is allowed. */
export const discoveryOptions = ({ outbound, signal }: McpRequests) => ({
  [oauth.customFetch]: outbound.get,
  [oauth.allowInsecureRequests]: true,
  signal,
})

export const getJson = ({ outbound, signal }: McpRequests, url: string): Promise<Response> =>
  outbound.get(url, { headers: { accept: 'application/json' }, signal })

/** A failing or overloaded server says nothing about its metadata, so a later call may succeed. */
export function requireAvailable(response: Response): Response {
  if (response.status >= 500 || response.status === 429)
    throw new OutboundFailure('unusable', `answered ${response.status}`)
  return response
}

/** `what`: the failed action. Shows only the host of `url`, because the rest may be another server's text. */
export function toMcpError(
  { signal, timeoutMs }: McpRequests,
  what: string,
  url: URL | string,
  error: unknown,
): unknown {
  if (!(error instanceof OutboundFailure)) return error
  const late = `did not answer in time (all calls together have ${timeoutMs / 1000} s)`
  return new McpUnavailableError(`${what}: ${new URL(url).host} ${signal.aborted ? late : error.message}.`)
}

/** Only characters of a URL, because identifiers of servers are stored, sent and compared as they are. */
export const IDENTIFIER = /^[!-~]+$/
