/** How the discovery of an MCP server makes its calls: each guarded, all of them together within one deadline. */
import * as oauth from 'oauth4webapi'
import { OAuthFailure } from '../domain/providers/client.ts'
import type { OutboundRules } from './address.ts'
import type { Outbound } from './fetch.ts'

export interface Asking {
  outbound: Outbound
  rules: OutboundRules
  /** ms for all of it */
  patience: number
  /** aborts when they are over */
  signal: AbortSignal
}

/** For requests of the library that only read. http: whether it is allowed, the guard decides. */
export const reading = ({ outbound, signal }: Asking) => ({
  [oauth.customFetch]: outbound.get,
  [oauth.allowInsecureRequests]: true,
  signal,
})

/** For a document that the library knows no place of. */
export const read = ({ outbound, signal }: Asking, url: string): Promise<Response> =>
  outbound.get(url, { headers: { accept: 'application/json' }, signal })

/** What a server says when it is down tells nothing of what it has: it may be asked again later. */
export function requireUp(response: Response): Response {
  if (response.status >= 500 || response.status === 429)
    throw new OAuthFailure('unusable', `answered ${response.status}`)
  return response
}

/** Nothing but what a URL is made of: names of servers are stored, sent and compared as they are. */
export const NAME = /^[!-~]+$/
