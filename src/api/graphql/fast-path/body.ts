/** Reads the body of a request in such a way that it can be given back, as if nobody had read it. */
import type { IncomingMessage } from 'node:http'

/**
 * The whole body, of which it is known how many bytes it has (more than 0). `request.unshift()` gives it back, if nothing else was
 * read of it. Null: the client is gone, or was too slow (server/http.ts).
 */
export function wholeBody(request: IncomingMessage, length: number): Buffer | null | Promise<Buffer | null> {
  // exactly so much: a stream that was asked for more ends, and takes nothing back then
  const body: Buffer | null = request.read(length)
  return body ?? (request.destroyed ? null : arrival(request, length))
}

function arrival(request: IncomingMessage, length: number): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const look = () => {
      const body: Buffer | null = request.read(length)
      if (body) over(body)
    }
    const gone = () => over(null)
    const over = (body: Buffer | null) => {
      request.off('readable', look).off('close', gone)
      resolve(body)
    }
    request.on('readable', look).once('close', gone)
  })
}
