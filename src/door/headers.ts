/**
 * Changes headers that are forwarded: removes hop-by-hop headers (RFC 9110, 7.6.1) and values that Node can parse but not
 * write, which would throw an uncaught error. Hides the control plane's session cookie from agents (README.md). Also forwards
 * Early Hints (RFC 8297), which precede an answer, and trailers (RFC 9110, 6.5).
 */
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http'

/** not allowed in a reason phrase (RFC 9112, 4) */
const INVALID_REASON_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/

/** Changes an agent's answer before it is forwarded. False: not a final answer. */
export function sanitizeResponse(response: IncomingMessage): boolean {
  // informational 1xx answers arrive as other events
  if (response.statusCode! < 200) return false
  if (INVALID_REASON_CHARACTER.test(response.statusMessage!)) response.statusMessage = ''
  // the connections of agent and client are independent
  delete response.headers.connection
  delete response.headers['keep-alive']
  // Node throws when a message that is not chunked announces trailers; they are forwarded without
  delete response.headers.trailer
  // this body ends with the agent's connection, but the client's stays open
  if (!response.headers['transfer-encoding']?.includes('chunked')) delete response.headers['transfer-encoding']
  return true
}

/**
 * Removes from a request that is forwarded as HTTP what belongs to the client's connection (RFC 9110, 7.6.1), and offers to upgrade it:
 * an agent with WebSockets would accept the upgrade and never answer the request.
 */
export function removeConnectionHeaders({ headers }: IncomingMessage): void {
  const named = headers.connection?.toLowerCase().split(',') ?? []
  // a client may name them, but they belong to the message, or the agent relies on them
  const kept = ['host', 'content-length', 'transfer-encoding', 'x-pilothouse-caller', 'x-forwarded-prefix']
  for (const name of named.map((it) => it.trim())) if (!kept.includes(name)) delete headers[name]
  // Node throws when a message that is not chunked announces trailers; they are forwarded without
  for (const name of ['connection', 'keep-alive', 'proxy-connection', 'expect', 'upgrade', 'http2-settings', 'trailer'])
    delete headers[name]
}

/** A client of HTTP/1.0 would take 100 Continue for the answer (RFC 9110, 10.1.1). */
export const expectsContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  headers.expect?.toLowerCase() === '100-continue' && httpVersion !== '1.0'

/** All installations' cookies (api/auth/session-halves.ts). Of a nameless cookie, browsers send only the value. */
const SESSION_COOKIE = /^[\s=]*(?:__Host-)?pilothouse_/i

/** Changes the request before it is forwarded. */
export function removeSessionCookies({ headers }: IncomingMessage): void {
  if (headers.cookie === undefined || !headers.cookie.toLowerCase().includes('pilothouse_')) return
  const others = headers.cookie.split(';').filter((pair) => !SESSION_COOKIE.test(pair))
  if (others.length > 0) headers.cookie = others.join(';').trim()
  else delete headers.cookie
}

/** Requests by path: their agents share a host, so they get and set no cookies. */
const byPath = new WeakSet<IncomingMessage>()

/** Changes a request whose path began with `prefix`, before it is forwarded. */
export function noteRemovedPrefix(request: IncomingMessage, prefix: string): void {
  byPath.add(request)
  delete request.headers.cookie
  request.headers['x-forwarded-prefix'] = prefix
}

export const isByPath = (request: IncomingMessage): boolean => byPath.has(request)

/** Changes the answer before it is forwarded. An agent may clear its own data, but cookies belong to the whole host. */
export function protectCookies({ headers }: IncomingMessage, request: IncomingMessage): void {
  if (byPath.has(request)) {
    delete headers['set-cookie']
    // a page shares no storage with the pages of other agents
    headers['content-security-policy'] = 'sandbox allow-scripts'
  }
  const set = headers['set-cookie']
  if (set) {
    const others = set.filter((one) => !SESSION_COOKIE.test(one))
    if (others.length > 0) headers['set-cookie'] = others
    else delete headers['set-cookie']
  }
  const cleared = headers['clear-site-data']
  if (cleared === undefined) return
  const kept = [cleared]
    .flat()
    .flatMap((line) => line.split(','))
    .flatMap((kind) => (kind.trim() === '"*"' ? ALL_BUT_COOKIES : kind.trim() === '"cookies"' ? [] : [kind.trim()]))
  if (kept.length > 0) headers['clear-site-data'] = kept.join(', ')
  else delete headers['clear-site-data']
}

const ALL_BUT_COOKIES = [
  '"cache"',
  '"storage"',
  '"executionContexts"',
  '"clientHints"',
  '"prefetchCache"',
  '"prerenderCache"',
]

/** Trailers that decide about framing, routing or the caller are not forwarded, because a recipient may merge them into the headers. */
const NOT_FORWARDED =
  /^(connection|keep-alive|te|trailer|transfer-encoding|upgrade|host|content-.*|proxy-.*|authorization|cookie|set-cookie|clear-site-data|forwarded|x-api-key|x-session|x-real-ip|x-forwarded-.*|x-pilothouse-.*)$/

/** Only their `Link`. */
export function forwardEarlyHints(
  { statusCode, headers }: InformationEvent,
  { httpVersion }: IncomingMessage,
  response: ServerResponse,
): void {
  // a client of HTTP/1.0 would take them for the answer
  if (statusCode !== 103 || httpVersion === '1.0' || response.headersSent || headers.link === undefined) return
  try {
    response.writeEarlyHints({ link: String(headers.link).split(/,\s*(?=<)/) })
  } catch {
    // Node refuses the value
  }
}

/** Must be called before `to` ends. Node sends them only in a chunked message, or over HTTP/2. */
export function forwardTrailers({ trailers }: IncomingMessage, to: ClientRequest | ServerResponse): void {
  const forwarded = Object.entries(trailers).filter(([name, value]) => value !== undefined && !NOT_FORWARDED.test(name))
  if (forwarded.length === 0) return
  try {
    to.addTrailers(Object.fromEntries(forwarded) as Record<string, string>)
  } catch {
    // Node refuses a value
  }
}
