/**
 * Errors before routing, in the common error format (docs/api-rules.md#errors): invalid HTTP, a method that Node does not know, an
 * unsupported `Expect`, a CONNECT tunnel.
 */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { DomainError } from '../../domain/errors/errors.ts'
import { errorText } from '../rest/framework/errors.ts'
import type { KnownRoutes, RouteError } from './known-routes.ts'

/** An error of Node's HTTP parser or server. */
interface ClientError extends NodeJS.ErrnoException {
  /** the data that was being parsed */
  rawPacket?: unknown
  /** position in it */
  bytesParsed?: number
}

/** Handles requests that Node would otherwise answer without a body. */
export function rejectUnsupportedRequests(server: Server): void {
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const requestId = randomUUID()
    const error = new DomainError('EXPECTATION_FAILED', 'Only 100-continue can be expected here.')
    response.writeHead(error.status, { 'content-type': 'application/json', 'x-request-id': requestId })
    response.end(errorText(error, requestId))
  })
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    sendError(socket, {
      error: new DomainError('METHOD_NOT_ALLOWED', 'CONNECT is not allowed here: this is no proxy.'),
      allow: 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS',
    })
  })
}

/** For Fastify's `clientErrorHandler`. Closes the connection, because the start of the next request is unknown. */
export function rejectMalformedRequest(error: ClientError, socket: Duplex, known?: KnownRoutes): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const unknown = known && unknownMethod(error)
  sendError(socket, unknown ? known.errorFor(...unknown) : { error: toDomainError(error.code), allow: null })
}

function sendError(socket: Duplex, { error, allow }: RouteError): void {
  const requestId = randomUUID()
  const body = errorText(error, requestId)
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(allow === null ? [] : [`Allow: ${allow}`]),
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

/** Method and target of a valid request line with a method that Node does not know; else null. */
function unknownMethod({ code, rawPacket, bytesParsed = 0 }: ClientError): [string, string] | null {
  if (code !== 'HPE_INVALID_METHOD' || !Buffer.isBuffer(rawPacket)) return null
  const text = rawPacket.toString('latin1')
  // the packet may also contain earlier requests
  const line = text.slice(text.lastIndexOf('\n', bytesParsed - 1) + 1).split('\r\n')[0]!
  const found = /^([!#$%&'*+.^`|~\w-]{1,64}) (\/[!-~]*) HTTP\/1\.[01]$/.exec(line)
  return found ? [found[1]!, found[2]!] : null
}

/** `code`: error code of Node's HTTP parser or server */
function toDomainError(code: string | undefined): DomainError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new DomainError('HEADERS_TOO_LARGE', 'The address and the headers are larger than 16 KiB.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new DomainError('REQUEST_TIMEOUT', 'The request took too long to arrive.')
  return new DomainError('MALFORMED_REQUEST', 'This is not an HTTP request.')
}
