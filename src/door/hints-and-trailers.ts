/** Forwards Early Hints (RFC 8297), which precede an answer, and trailers (RFC 9110, 6.5), which follow a body. */
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http'

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
