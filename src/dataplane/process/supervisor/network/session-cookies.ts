/** Hides the control plane's session cookie from agents and protects it (README.md). */
import type { IncomingMessage } from 'node:http'

/** All installations' cookies (api/auth/session-halves.ts). Of a nameless cookie, browsers send only the value. */
const SESSION_COOKIE = /^[\s=]*(?:__Host-)?pilothouse_/i

/** Changes the request before it is forwarded. */
export function removeSessionCookies({ headers }: IncomingMessage): void {
  if (headers.cookie === undefined || !headers.cookie.toLowerCase().includes('pilothouse_')) return
  const others = headers.cookie.split(';').filter((pair) => !SESSION_COOKIE.test(pair))
  if (others.length > 0) headers.cookie = others.join(';').trim()
  else delete headers.cookie
}

/** Changes the answer before it is forwarded. An agent may clear its own data, but cookies belong to the whole host. */
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

const ALL_BUT_COOKIES = [
  '"cache"',
  '"storage"',
  '"executionContexts"',
  '"clientHints"',
  '"prefetchCache"',
  '"prerenderCache"',
]
