/** Finds the protocol of each connection by its first bytes: TLS, HTTP/2 without TLS, or HTTP/1.1. */
import type http from 'node:http'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { Certificate } from '../dataplane/process/door/messages.ts'
import type { Http2 } from './http2.ts'
import type { CertificateStore } from './stores.ts'

/** for the certificate and the handshake */
const HANDSHAKE_MS = 10_000
/** first byte of a TLS handshake (RFC 8446, 5.1) */
const HANDSHAKE_RECORD = 0x16
/** of HTTP/2 by prior knowledge (RFC 9113, 3.4) */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

interface Options {
  http2: Http2
  certificates: CertificateStore
  /** whether connections of other machines need TLS */
  usesTls(): boolean
}

/**
 * Serves all protocols on the port of `server`. Programs of this machine may connect without TLS: they reach agents by path, where no
 * certificate fits. TLS connections wait for the first certificate.
 */
export function acceptConnections(server: http.Server, { http2, certificates, usesTls }: Options): void {
  const [accept] = server.listeners('connection') as [(socket: Socket) => void]
  const serve = (socket: Socket) => accept.call(server, socket)
  const secured = tls.createServer({ ALPNProtocols: ['h2', 'http/1.1'], handshakeTimeout: HANDSHAKE_MS })
  secured.on('tlsClientError', (_error, socket) => socket.destroy())
  secured.on('secureConnection', (socket) => (socket.alpnProtocol === 'h2' ? http2.accept(socket) : serve(socket)))
  const waiting = new Set<Socket>()
  const decrypt = (socket: Socket) => void secured.emit('connection', socket)
  const onCertificate = (certificate: Certificate) => {
    secured.setSecureContext(certificate)
    for (const socket of waiting) decrypt(socket)
    waiting.clear()
  }
  certificates.follow(onCertificate)
  server.once('close', () => certificates.unfollow(onCertificate))

  function waitForCertificate(socket: Socket): void {
    const leave = () => socket.destroy()
    waiting.add(socket)
    socket.once('error', leave).once('close', () => waiting.delete(socket))
    socket.setTimeout(HANDSHAKE_MS, leave)
  }

  server.removeAllListeners('connection')
  server.on('connection', (socket) =>
    peek(socket, server.headersTimeout, (first) => {
      if (usesTls() && first[0] === HANDSHAKE_RECORD) {
        if (certificates.current) decrypt(socket)
        else waitForCertificate(socket)
      } else if (usesTls() && !isLocal(socket)) socket.destroy()
      else if (first.indexOf(PREFACE) === 0) http2.accept(socket)
      else {
        serve(socket)
        socket.resume()
      }
    }),
  )
}

/** Calls `decide` with the first bytes, which stay unread. Closes the connection when none arrive for `ms`. */
function peek(socket: Socket, ms: number, decide: (first: Buffer) => void): void {
  const leave = () => socket.destroy()
  socket.on('error', leave)
  socket.setTimeout(ms, leave)
  let bytes: Buffer = Buffer.alloc(0)
  socket.on('data', function look(chunk: Buffer) {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    if (bytes.length < PREFACE.length && PREFACE.indexOf(bytes) === 0) return
    socket.off('data', look).off('error', leave).off('timeout', leave).setTimeout(0)
    socket.pause()
    socket.unshift(bytes)
    decide(bytes)
  })
}

const isLocal = ({ remoteAddress = '' }: Socket) => /^(::ffff:)?127\.|^::1$/.test(remoteAddress)
