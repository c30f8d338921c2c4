/**
 * What a request over a session shows (docs/api-rules.md#sessions): one half in a cookie, the other in `X-Session`, and that it comes from
 * a page of this very server. Browsers send cookies to every port of a host, and with what other sites' pages ask for, too:
 * so one half alone is none, and both from elsewhere are refused.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { ForbiddenError, UnauthenticatedError } from '../../domain/errors/errors.ts'
import { candidateHashes } from '../../domain/sessions/halves.ts'

/** How the names of our cookies begin, of all installations; the process runtime's proxy keeps these from agents. */
const COOKIE_PREFIX = 'pilothouse_'
/** With it browsers take a cookie over https alone, and from no other host of the domain. */
const HOST_PREFIX = '__Host-'

/** This installation's own, so that two servers on ports of one host do not overwrite each other's. */
export const cookieNameOf = (installation: string): string =>
  `${COOKIE_PREFIX}${installation.replaceAll('-', '').slice(0, 12)}`

/**
 * The most cookies of one name that are looked at. A page at another port of this host can't read ours, but over plain http it can set others
 * of its name, with longer paths or for more of the domain. Browsers send longer paths first and ours is at `/`, so it is among the last.
 */
const MAX_COOKIES_OF_NAME = 16

/** Names what it is looked up by (`anyOfHalves`); null: the request shows no session. Throws UnauthenticatedError for half of one, ForbiddenError where it comes from another page. */
export function readSessionHash(headers: IncomingHttpHeaders, cookieName: string, publicUrl: string): string | null {
  const half = headers['x-session']
  // by either name: it is nothing without the half, whoever has set it
  const cookies = [HOST_PREFIX + cookieName, cookieName].flatMap((name) => readCookies(headers.cookie, name))
  if (typeof half !== 'string' || half === '') {
    if (cookies.length === 0) return null
    // the browser has sent it by itself
    throw new UnauthenticatedError(
      'The session’s cookie alone is no credential: send the session’s other half in the X-Session header, or send an API key.',
    )
  }
  if (cookies.length === 0) throw new UnauthenticatedError('The session’s cookie is missing: sign in again.')
  requireOwnPage(headers, publicUrl)
  return candidateHashes(cookies, half)
}

/**
 * The values of cookies of ours as `cookieHeader` sets them. Behind https those of the bare name are not ours: another host of
 * the domain may have set them, or a page at another port, to sign somebody in as another. Elsewhere there may be one of theirs among them.
 */
export function readOwnCookies(header: string | undefined, { name, secure }: CookieName): string[] {
  return readCookies(header, (secure ? HOST_PREFIX : '') + name)
}

/** The names of cookies of ours that begin so, as `cookieHeader` takes them. */
export function ownCookieNames(header: string | undefined, start: string): string[] {
  const names = (header ?? '').split(';').map((pair) => pair.split('=')[0]!.trim().replace(HOST_PREFIX, ''))
  return [...new Set(names)].filter((name) => name.startsWith(start))
}

/** The values of the last cookies of that name. */
function readCookies(header: string | undefined, name: string): string[] {
  const found: string[] = []
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=')
    if (at > 0 && pair.slice(0, at).trim() === name) found.push(pair.slice(at + 1).trim())
  }
  return found.slice(-MAX_COOKIES_OF_NAME)
}

/**
 * Throws ForbiddenError unless a page of this server sends it. Where the browser says itself how page and server relate
 * (`Sec-Fetch-Site`), that decides; otherwise `Origin` does. A WebSocket is judged by `Origin` alone (websocket/credentials.ts).
 */
function requireOwnPage(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site']
  const own = site === undefined ? isOwnOrigin(headers.origin, headers.host, publicUrl) : site === 'same-origin'
  if (!own)
    throw new ForbiddenError(
      'A session is for pages of this server alone: it is taken with `Sec-Fetch-Site: same-origin`, or with this server’s own `Origin`.',
    )
}

/** For what makes a session: the same, but who says nothing about pages is no browser. */
export function rejectForeignPage(headers: IncomingHttpHeaders, publicUrl: string): void {
  if (headers['sec-fetch-site'] !== undefined || headers.origin !== undefined) requireOwnPage(headers, publicUrl)
}

/**
 * Whether it is the origin of PUBLIC_URL; or, where the request was sent to another name of ours, that of `Host`, whether https or
 * not: TLS may end at a proxy. Browsers keep cookies by host, so that nobody's page at another name has one of ours to send.
 */
function isOwnOrigin(origin: string | undefined, host: string | undefined, publicUrl: string): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false
  const of = new URL(origin)
  // no browser writes more than that
  if (of.origin !== origin) return false
  const known = new URL(publicUrl)
  if (of.origin === known.origin) return true
  if (host === undefined || !URL.canParse(`${of.protocol}//${host}`)) return false
  const asked = new URL(`${of.protocol}//${host}`).host
  return asked === of.host && asked !== known.host && (of.protocol === 'http:' || of.protocol === 'https:')
}

export interface CookieName {
  name: string
  /** whether the browser came by https */
  secure: boolean
}

/**
 * `Set-Cookie`, as of a session's half. `seconds`: until it ends; 0: it has ended. `sameSite`: `Lax` for what has to be sent when the
 * person comes from another site's page.
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

/** Whether a request came by https: that PUBLIC_URL says of its own host, and of others the proxy (`protocol`). */
export function isSecure({ host, protocol }: { host: string; protocol: string }, publicUrl: string): boolean {
  const known = new URL(publicUrl)
  const asked = URL.canParse(`${known.protocol}//${host}`) ? new URL(`${known.protocol}//${host}`).host : null
  return asked === known.host ? known.protocol === 'https:' : protocol === 'https'
}
