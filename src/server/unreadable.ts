/** What can't even be read as an HTTP request is refused in the shape of every other error (contract 2). */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { DomainError } from '../domain/errors.ts'
import { errorText } from '../rest/errors.ts'

/** For Fastify's `clientErrorHandler`. The connection ends: where the next request would begin is not known. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const shown = toDomainError(error.code)
  const requestId = randomUUID()
  const body = errorText(shown, requestId)
  const head = [
    `HTTP/1.1 ${shown.status} ${STATUS_CODES[shown.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

/** `code`: of Node's HTTP parser and server */
function toDomainError(code: string | undefined): DomainError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new DomainError('HEADERS_TOO_LARGE', 'The address and the headers are larger than 16 KiB.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new DomainError('REQUEST_TIMEOUT', 'The request took too long to arrive.')
  return new DomainError('MALFORMED_REQUEST', 'This is not an HTTP request.')
}
