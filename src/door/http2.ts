/**
 * HTTP/2 for the door: Node's compatibility objects, changed so that the rest of the door handles them like HTTP/1.1. Requests go to
 * agents as HTTP/1.1. WebSockets use HTTP/1.1 connections.
 */
import type http from 'node:http'
import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import { type DoorResponse, Http2Response } from './response.ts'

const { NGHTTP2_NO_ERROR } = http2.constants
/** A client gets a new connection for more. */
const MAX_STREAMS = 250
/** A connection without streams is closed after this time, in ms, as one of HTTP/1.1. */
const IDLE_MS = 65_000
/** from the request to use another connection until streams of this one are refused */
const GRACE_MS = 2000
/** in the first GOAWAY of a graceful shutdown (RFC 9113, 6.8) */
const ANY_STREAM = 2 ** 31 - 1

type Serve = (request: http.IncomingMessage, response: DoorResponse) => void

/** The HTTP/2 connections of one port. */
export class Http2 {
  /** A connection without traffic is closed after this time, even with open streams; 0: it is not. */
  idleMs = 0
  readonly #server: http2.Http2Server
  readonly #sessions = new Map<http2.Http2Session, { streams: number }>()
  #accepted: Duplex | null = null

  constructor(serve: Serve) {
    const settings = { maxConcurrentStreams: MAX_STREAMS }
    this.#server = http2.createServer({ settings, Http2ServerResponse: Http2Response as never })
    this.#server.on('session', (session) => this.#track(session))
    // the streams of the connection end, and their requests with them
    this.#server.on('sessionError', () => undefined)
    const receive = (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
      const socket = request.stream.session && sockets.get(request.stream.session)
      // undefined: the client has reset the stream
      if (socket) serve(...likeHttp1(request, response, socket))
    }
    this.#server.on('request', receive).on('checkContinue', receive)
  }

  /** `socket`: decrypted. It may have bytes that were read and put back. */
  accept(socket: Duplex): void {
    this.#accepted = socket
    // documented: a way to serve a connection that the server did not accept itself
    this.#server.emit('connection', socket)
  }

  /** Asks clients to use new connections. Streams in flight continue. */
  close(): void {
    const sessions = [...this.#sessions.keys()]
    for (const session of sessions) if (!session.destroyed) session.goaway(NGHTTP2_NO_ERROR, ANY_STREAM)
    setTimeout(() => {
      for (const session of sessions) session.close()
    }, GRACE_MS)
  }

  #track(session: http2.Http2Session): void {
    const use = { streams: 0 }
    sockets.set(session, this.#accepted!)
    this.#sessions.set(session, use)
    session.once('close', () => this.#sessions.delete(session))
    session.on('stream', (stream) => {
      use.streams++
      stream.once('close', () => use.streams--)
    })
    session.setTimeout(this.idleMs || IDLE_MS, () => {
      if (use.streams === 0) session.close()
      else if (this.idleMs) session.destroy()
    })
  }
}

/** by connection: Node's proxy of it can't be used any more when the stream has closed */
const sockets = new WeakMap<http2.Http2Session, Duplex>()

function likeHttp1(
  request: http2.Http2ServerRequest,
  response: http2.Http2ServerResponse,
  socket: Duplex,
): [http.IncomingMessage, DoorResponse] {
  const { headers, stream } = request
  const { ':authority': authority, host } = headers
  // an empty host is refused: the request names two
  if (authority !== undefined)
    headers.host = host === undefined || host.toLowerCase() === authority.toLowerCase() ? authority : ''
  const { method, url } = request
  for (const name in headers) if (name.startsWith(':')) delete headers[name]
  // without it, the body of a GET would be sent to the agent as if it were the next request
  if (!stream.endAfterHeaders && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked'
  Object.defineProperties(request, {
    method: { value: method },
    url: { value: url, writable: true },
    socket: { value: socket },
    connection: { value: socket },
    destroy: { value: () => stream.close(NGHTTP2_NO_ERROR) },
  })
  return [request, response] as unknown as [http.IncomingMessage, DoorResponse]
}
