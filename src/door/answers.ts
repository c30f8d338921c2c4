/** The door's own answers. Their bodies have the format of API errors (docs/api-rules.md#errors). */
import http from 'node:http'
import type { Duplex } from 'node:stream'
import type { Verdict } from './guard.ts'

const CODES = {
  400: 'MALFORMED_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  429: 'RATE_LIMITED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
} as const

type Status = keyof typeof CODES

/** Answers, unless the agent's answer has begun: then it ends the connection. */
export function answer(
  response: http.ServerResponse,
  status: Status,
  detail: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent) return void response.destroy()
  // headers of an agent answer that broke before its first byte; its length is wrong here
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  const code = CODES[status]
  // HTTP/2 has no reason phrases
  if (response instanceof http.ServerResponse) response.statusMessage = http.STATUS_CODES[status]!
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(code === 'UNAVAILABLE' ? { 'retry-after': '2' } : {}),
    ...headers,
  })
  response.end(JSON.stringify({ detail, code }))
}

/** Answers a request that the guard does not let in. */
export function answerRefusal(response: http.ServerResponse, verdict: Exclude<Verdict, { allow: true }>): void {
  if ('status' in verdict) answer(response, verdict.status, verdict.detail, verdict.headers)
  else {
    const { location, cookie } = verdict
    response.writeHead(303, { location, 'cache-control': 'no-store', ...(cookie && { 'set-cookie': cookie }) }).end()
  }
}

/** Answers a request to upgrade, and ends the connection. */
export function refuse(socket: Duplex, status: Status, headers: Record<string, string> = {}): void {
  if (!socket.writable) return
  const wait = CODES[status] === 'UNAVAILABLE' ? { 'retry-after': '2' } : {}
  const lines = Object.entries({ connection: 'close', ...wait, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n`)
}
