/**
 * Lets pages of the dashboard call agents: CORS for PUBLIC_URL's origin, for requests with a signed link's token in a header. No other
 * page may, so agents keep the cross-origin rules that they have (decision 40).
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { DoorResponse } from './response.ts'
import { LINK_HEADER } from './signed-links.ts'

/** Browsers ask again after this time. */
const MAX_AGE_SECONDS = 600
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']

/**
 * Answers the browser's question whether such a call is allowed (a preflight request), for every host alike. False: the request is
 * something else. `dashboard`: PUBLIC_URL; null: not known yet.
 */
export function answerPreflight(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  dashboard: string | null,
): boolean {
  const { origin, 'access-control-request-method': verb } = headers
  const names = headers['access-control-request-headers']?.toLowerCase() ?? ''
  const isQuestion = method === 'OPTIONS' && verb !== undefined && names.split(/ *, */).includes(LINK_HEADER)
  if (!isQuestion || !isDashboard(origin, dashboard)) return false
  response.writeHead(204, {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': verb,
    'access-control-allow-headers': names,
    'access-control-max-age': String(MAX_AGE_SECONDS),
    vary: 'Origin',
  })
  response.end()
  return true
}

/** Lets the dashboard read the answer to such a call. The agent gets the request as from a program, without headers of the page. */
export function allowReading(request: IncomingMessage, response: DoorResponse, dashboard: string | null): void {
  const { headers } = request
  const { origin } = headers
  if (headers[LINK_HEADER] === undefined || !isDashboard(origin, dashboard)) return
  for (const name in headers)
    if (name === 'origin' || name === 'referer' || name.startsWith('sec-fetch-')) delete headers[name]
  // the agent may send its own headers of that kind
  response.beforeHeaders = () => {
    for (const name of response.getHeaderNames()) if (name.startsWith('access-control-')) response.removeHeader(name)
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('access-control-expose-headers', '*')
    response.appendHeader('vary', 'Origin')
  }
}

/** The names of loopback are one place. */
function isDashboard(origin: string | undefined, dashboard: string | null): origin is string {
  if (dashboard === null || origin === undefined || !URL.canParse(origin)) return false
  const [asked, own] = [new URL(origin), new URL(dashboard)]
  if (asked.origin === own.origin) return true
  const areLoopback = LOOPBACK.includes(asked.hostname) && LOOPBACK.includes(own.hostname)
  return areLoopback && asked.protocol === own.protocol && asked.port === own.port
}
