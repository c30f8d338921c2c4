/**
 * Reads session credentials from a request: a cookie half, an `X-Session` half, and proof that the request comes from a page
 * of this server (docs/api-rules.md#sessions). See README.md.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ForbiddenError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import { candidateHashes } from '../../domain/sessions/open.ts'

/** Name prefix of the cookies of all installations. The process runtime's proxy hides them from agents. */
const COOKIE_PREFIX = 'pilothouse_'
/** Browsers accept a cookie with this prefix only over https and only from the host itself. */
const HOST_PREFIX = '__Host-'

/** The cookie name of this installation. Two servers on ports of one host must not overwrite each other's cookies. */
export const cookieNameOf = (installation: string): string =>
  `${COOKIE_PREFIX}${installation.replaceAll('-', '').slice(0, 12)}`

/**
 * Maximum number of cookies of one name that are checked. A page at another port of this host can set such cookies over
 * plain http. Browsers send longer paths first and this server's path is `/`, so its own cookie is among the last.
 */
const MAX_COOKIES_OF_NAME = 16

/**
 * Returns the hash to look the session up by (`anyOfHalves`); null: the request has no session. Throws UnauthenticatedError
 * if one half is missing, ForbiddenError if another origin's page sent the request.
 */
export function readSessionHash(headers: IncomingHttpHeaders, cookieName: string, publicUrl: string): string | null {
  const half = headers['x-session']
  // both names: a cookie is useless without the other half
  const cookies = [HOST_PREFIX + cookieName, cookieName].flatMap((name) => readCookies(headers.cookie, name))
  if (typeof half !== 'string' || half === '') {
    if (cookies.length === 0) return null
    // the browser sent the cookie by itself
    throw new UnauthenticatedError(
      'The session’s cookie alone is not a credential. Send the session’s other half in the X-Session header, or send an API key.',
    )
  }
  if (cookies.length === 0) throw new UnauthenticatedError('The session’s cookie is missing. Sign in again.')
  requireOwnPage(headers, publicUrl)
  return candidateHashes(cookies, half)
}

/**
 * The values of this server's cookies as `cookieHeader` sets them. Over https, cookies without the prefix are ignored:
 * another host of the domain or a page at another port may have set them to sign the user in as someone else. Over http,
 * foreign cookies can't be told apart.
 */
export function readOwnCookies(header: string | undefined, { name, secure }: CookieName): string[] {
  return readCookies(header, (secure ? HOST_PREFIX : '') + name)
}

/** The names of this server's cookies that start with `start`, as `cookieHeader` takes them. */
export function ownCookieNames(header: string | undefined, start: string): string[] {
  const names = (header ?? '').split(';').map((pair) => pair.split('=')[0]!.trim().replace(HOST_PREFIX, ''))
  return [...new Set(names)].filter((name) => name.startsWith(start))
}

function readCookies(header: string | undefined, name: string): string[] {
  const found: string[] = []
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) found.push(pair.slice(at + 1).trim())
  }
  return found.slice(-MAX_COOKIES_OF_NAME)
}

/**
 * Throws ForbiddenError unless a page of this server sent the request. `Sec-Fetch-Site` decides if the browser sends it,
 * otherwise `Origin`. For a WebSocket only `Origin` counts (websocket/peer.ts).
 */
function requireOwnPage(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site']
  const own = site === undefined ? isOwnOrigin(headers.origin, headers.host, publicUrl) : site === 'same-origin'
  if (!own)
    throw new ForbiddenError(
      'A session only works on pages of this server. The request must have `Sec-Fetch-Site: same-origin` or this server’s `Origin`.',
    )
}

/** The same check for requests that open a session. A request without these headers does not come from a browser. */
export function rejectForeignPage(headers: IncomingHttpHeaders, publicUrl: string): void {
  if (headers['sec-fetch-site'] !== undefined || headers.origin !== undefined) requireOwnPage(headers, publicUrl)
}

/**
 * Whether the origin is that of PUBLIC_URL, or that of `Host` if the request used another name of this server. The scheme
 * may differ, because TLS may end at a proxy. Browsers keep cookies by host, so a page at another name has no session cookie
 * to send.
 */
function isOwnOrigin(origin: string | undefined, host: string | undefined, publicUrl: string): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const originUrl = new URL(origin)
  // browsers send nothing but the origin
  if (originUrl.origin !== origin) return false
  const known = new URL(publicUrl)
  if (originUrl.origin === known.origin) return true
  if (host === undefined || !URL.canParse(`${originUrl.protocol}//${host}`)) return false
  const requestedHost = new URL(`${originUrl.protocol}//${host}`).host
  return (
    requestedHost === originUrl.host &&
    requestedHost !== known.host &&
    (originUrl.protocol === 'http:' || originUrl.protocol === 'https:')
  )
}

export interface CookieName {
  name: string
  secure: boolean
}

/**
 * The `Set-Cookie` header of a session half. `seconds`: lifetime; 0 deletes the cookie. `sameSite`: `Lax` for a cookie that
 * must be sent when the user returns from another site.
 */
export function cookieHeader(
  { name, secure }: CookieName,
  value: string,
  seconds: number,
  sameSite: 'Strict' | 'Lax' = 'Strict',
): string {
  const named = `${secure ? HOST_PREFIX : ''}${name}=${value}`
  return `${named}; Path=/; HttpOnly; SameSite=${sameSite}; Max-Age=${seconds}${secure ? '; Secure' : ''}`
}

/** Whether a request used https. PUBLIC_URL decides for its own host, the proxy (`protocol`) for other hosts. */
export function isSecure({ host, protocol }: { host: string; protocol: string }, publicUrl: string): boolean {
  const known = new URL(publicUrl)
  const requestedHost = URL.canParse(`${known.protocol}//${host}`) ? new URL(`${known.protocol}//${host}`).host : null
  return requestedHost === known.host ? known.protocol === 'https:' : protocol === 'https'
}
