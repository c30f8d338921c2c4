/** Signed links, by which browsers call a deployment: a token in the URL, then in a cookie (docs/deployments.md#access). */
import { type KeyObject, verify } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The token in a call of the dashboard; empty for a public deployment. The agent does not get it. */
export const LINK_HEADER = 'x-pilothouse-link'
/** query parameter, and end of the cookie's name */
const LINK = 'pilothouse_link'

export interface LinkClaims {
  aud: string
  /** the deployment */
  sub: string
  /** the credential that made the link */
  act: { kind: 'key' | 'session' | 'jwt'; id: string }
  org: string
  ws: string | null
  role: string
  exp: number
  /** absent in links of earlier servers */
  iat?: number
}

export interface Link {
  token: string
  /** it is in the URL, not in a header or the cookie */
  fromQuery: boolean
  /** the URL without it */
  rest: string
}

/** The link's token of a request; null: none. Agents reached by path share a host, so they have no cookies. */
export function linkOf(request: IncomingMessage, asked: { ownHost: boolean } | null): Link | null {
  const { url, headers } = request
  const { [LINK_HEADER]: sent } = headers
  if (typeof sent === 'string' && sent !== '') return { token: sent, fromQuery: false, rest: url! }
  if (!asked?.ownHost) return null
  if (url!.includes(`${LINK}=`)) {
    const [path = '', ...queries] = url!.split('?')
    const query = new URLSearchParams(queries.join('?'))
    const token = query.get(LINK)
    query.delete(LINK)
    // `//host` would lead to another host
    const rest = `/${path.replace(/^[/\\]+/, '')}${query.size > 0 ? `?${query}` : ''}`
    if (token) return { token, fromQuery: true, rest }
  }
  const [, token] = new RegExp(`(?:^|; ?)(?:__Host-)?${LINK}=([\\w.-]+)`).exec(headers.cookie ?? '') ?? []
  return token === undefined || !isFromOwnPage(request) ? null : { token, fromQuery: false, rest: url! }
}

/** Whether the cookie may count: pages of other agents must not use it. A user may follow a link from anywhere. */
function isFromOwnPage({ method, headers }: IncomingMessage): boolean {
  const { origin, host, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers
  if (site === undefined) return origin === undefined || origin.replace(/^https?:\/\//, '') === host
  const isNavigation = mode === 'navigate' && (method === 'GET' || method === 'HEAD')
  return site === 'same-origin' || site === 'none' || isNavigation
}

/** What the token says. Null: it is not signed by a server, or has ended. `keys`: public keys of servers, by id. */
export function claimsOf(token: string, keys: ReadonlyMap<string, KeyObject>): LinkClaims | null {
  const [head, body, signature] = token.split('.')
  if (!head || !body || !signature) return null
  try {
    const { kid } = parse(head) as { kid: string }
    const key = keys.get(kid)
    const signed = Buffer.from(`${head}.${body}`)
    if (!key || !verify(null, signed, key, Buffer.from(signature, 'base64url'))) return null
    const claims = parse(body) as LinkClaims
    return claims.aud === 'link' && claims.exp * 1000 > Date.now() ? claims : null
  } catch {
    return null
  }
}

/** The cookie that the browser sends instead of the token in the URL. `expires`: ms since 1970. */
export function cookieOf(token: string, { expires, secure }: { expires: number; secure: boolean }): string {
  const name = `${secure ? '__Host-' : ''}${LINK}`
  const seconds = Math.floor((expires - Date.now()) / 1000)
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${secure ? '; Secure' : ''}`
}

const parse = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString())
