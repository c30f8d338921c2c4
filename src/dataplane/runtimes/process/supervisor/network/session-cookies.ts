/**
 * Cookies know no ports, so on this host every agent is sent the half of a session that is one, and can set another in its place
 * (docs/api-rules.md#sessions). The other half no browser sends by itself; still nobody is given this one, and nobody ends it for our users.
 * What an agent's page sets by a script, or what its answer would with a port of its own, does not pass here: api/auth/session-halves.ts.
 */
import type { IncomingMessage } from 'node:http'

/** Of every installation: `pilothouse_…`, behind https with `__Host-` before it (api/auth/session-halves.ts). Browsers may lack a name, and send the value as if it had one. */
const SESSION_COOKIE = /^[\s=]*(?:__Host-)?pilothouse_/i

/** In place: before the request is passed on. */
export function removeSessionCookies({ headers }: IncomingMessage): void {
  if (headers.cookie === undefined || !headers.cookie.toLowerCase().includes('pilothouse_')) return
  const others = headers.cookie.split(';').filter((pair) => !SESSION_COOKIE.test(pair))
  if (others.length > 0) headers.cookie = others.join(';').trim()
  else delete headers.cookie
}

/** In place: before the answer is passed on. All that it clears is its own, but for cookies: those are the whole host's. */
export function protectSessionCookies({ headers }: IncomingMessage): void {
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

/** Of Clear-Site-Data. */
const ALL_BUT_COOKIES = [
  '"cache"',
  '"storage"',
  '"executionContexts"',
  '"clientHints"',
  '"prefetchCache"',
  '"prerenderCache"',
]
