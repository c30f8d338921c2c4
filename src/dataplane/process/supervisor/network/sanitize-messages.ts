/**
 * Removes hop-by-hop headers (RFC 9110, 7.6.1) and header values that Node can parse but not write.
 * Writing those would throw an uncaught error and end all requests in flight.
 */
import type { IncomingMessage } from 'node:http'

/** not allowed in a reason phrase (RFC 9112, 4) */
const INVALID_REASON_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/

/** Changes an agent's answer before it is forwarded. False: not a final answer. */
export function sanitizeResponse(response: IncomingMessage): boolean {
  // informational 1xx answers arrive as other events
  if (response.statusCode! < 200) return false
  if (INVALID_REASON_CHARACTER.test(response.statusMessage!)) response.statusMessage = ''
  // each agent connection closes; the client's stays open
  delete response.headers.connection
  // trailers are not forwarded
  delete response.headers.trailer
  // this body ends with the agent's connection, but the client's stays open
  if (!response.headers['transfer-encoding']?.includes('chunked')) delete response.headers['transfer-encoding']
  return true
}

/** Changes a request before it is forwarded as HTTP. Node has already sent 100 Continue to the client. */
export function removeUpgradeOffers({ headers }: IncomingMessage): void {
  delete headers.expect
  if (headers.upgrade === undefined) return
  // an agent with WebSockets would accept the upgrade and never answer the request
  delete headers.upgrade
  delete headers['http2-settings']
  delete headers.connection
}
