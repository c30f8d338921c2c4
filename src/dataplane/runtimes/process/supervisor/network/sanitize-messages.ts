/**
 * What is between one connection and the next, and no business of who is behind it (RFC 9110, 7.6.1). And agents answer with
 * what Node's parser takes and its writer does not: it would throw where nobody can catch it, and end all that is in flight.
 */
import type { IncomingMessage } from 'node:http'

/** What may not stand in a reason phrase (RFC 9112, 4). */
const INVALID_REASON_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/

/** In place: before an answer of the agent is passed on. False: it is none. */
export function sanitizeResponse(response: IncomingMessage): boolean {
  // 1xx that is no answer yet comes by other ways
  if (response.statusCode! < 200) return false
  if (INVALID_REASON_CHARACTER.test(response.statusMessage!)) response.statusMessage = ''
  // the agent closes each of its connections; the client's own goes on
  delete response.headers.connection
  // trailers are not passed on
  delete response.headers.trailer
  // one that ends with the agent's connection, as the client's does not
  if (!response.headers['transfer-encoding']?.includes('chunked')) delete response.headers['transfer-encoding']
  return true
}

/** In place: before a request that goes on as HTTP is passed on. The client was told already to send its body. */
export function removeUpgradeOffers({ headers }: IncomingMessage): void {
  delete headers.expect
  if (headers.upgrade === undefined) return
  // an agent that takes WebSockets would take it for one, and never answer
  delete headers.upgrade
  delete headers['http2-settings']
  delete headers.connection
}
