/** TLS on the port of all deployments, with the certificate that a server sends. */
import fs from 'node:fs'
import type http from 'node:http'
import type { Socket } from 'node:net'
import tls from 'node:tls'
import type { Certificate } from '../dataplane/process/door/messages.ts'

/** for the first byte, the certificate and the handshake */
const HANDSHAKE_MS = 10_000
/** first byte of a TLS handshake (RFC 8446, 5.1) */
const HANDSHAKE_RECORD = 0x16

/** The certificate of a door, and its file for the next door, which only the door's account can read. */
export class CertificateStore {
  #current: Certificate | null = null
  readonly #file: string | null
  readonly #listeners = new Set<(certificate: Certificate) => void>()

  /** `file`: null keeps the certificate in memory only. */
  constructor(file: string | null = null) {
    this.#file = file
    try {
      if (file) this.#current = JSON.parse(fs.readFileSync(file, 'utf8')) as Certificate
    } catch {
      // no server has sent one
    }
  }

  get current(): Certificate | null {
    return this.#current
  }

  /** New connections get it; null: there is no TLS any more. Throws when certificate and key don't fit. */
  set(certificate: Certificate | null): void {
    if (certificate?.cert === this.#current?.cert && certificate?.key === this.#current?.key) return
    if (certificate) tls.createSecureContext(certificate)
    this.#current = certificate
    if (certificate) for (const listener of this.#listeners) listener(certificate)
    this.#keep()
  }

  #keep(): void {
    if (!this.#file) return
    const draft = `${this.#file}.${process.pid}`
    try {
      if (!this.#current) return void fs.rmSync(this.#file, { force: true })
      fs.writeFileSync(draft, JSON.stringify(this.#current), { mode: 0o600 })
      fs.renameSync(draft, this.#file)
    } catch {
      // the disk is full: the next door waits for a server
    }
  }

  /** Calls `listener` now, if there is a certificate, and with each later one. */
  follow(listener: (certificate: Certificate) => void): void {
    this.#listeners.add(listener)
    if (this.#current) listener(this.#current)
  }

  unfollow(listener: (certificate: Certificate) => void): void {
    this.#listeners.delete(listener)
  }
}

/**
 * Lets a server accept TLS while `usesTls`. Programs of this machine may connect without: they reach agents by path, where no
 * certificate fits. Connections wait for the first certificate.
 */
export function acceptTls(server: http.Server, certificates: CertificateStore, usesTls: () => boolean): void {
  const [accept] = server.listeners('connection') as [(socket: Socket) => void]
  const serve = (socket: Socket) => accept.call(server, socket)
  const secured = tls.createServer({ ALPNProtocols: ['http/1.1'], handshakeTimeout: HANDSHAKE_MS }, serve)
  secured.on('tlsClientError', (_error, socket) => socket.destroy())
  const waiting = new Set<Socket>()
  const decrypt = (socket: Socket) => void secured.emit('connection', socket)
  const onCertificate = (certificate: Certificate) => {
    secured.setSecureContext(certificate)
    for (const socket of waiting) decrypt(socket)
    waiting.clear()
  }
  certificates.follow(onCertificate)
  server.once('close', () => certificates.unfollow(onCertificate))
  server.removeAllListeners('connection')
  server.on('connection', (socket) => {
    if (!usesTls()) return serve(socket)
    const leave = () => socket.destroy()
    socket.on('error', leave).once('close', () => waiting.delete(socket))
    socket.setTimeout(HANDSHAKE_MS, leave)
    socket.once('data', (first) => {
      socket.pause()
      socket.unshift(first)
      if (first[0] === HANDSHAKE_RECORD) {
        socket.off('timeout', leave)
        if (certificates.current) decrypt(socket)
        else waiting.add(socket)
      } else if (isLocal(socket)) {
        socket.off('timeout', leave).off('error', leave).setTimeout(0)
        serve(socket)
        socket.resume()
      } else socket.destroy()
    })
  })
}

const isLocal = ({ remoteAddress = '' }: Socket) => /^(::ffff:)?127\.|^::1$/.test(remoteAddress)
