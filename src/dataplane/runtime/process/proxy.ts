/**
 * The stable address of a deployment: passes HTTP, streams and WebSockets on to whichever process serves.
 * Each request gets a connection of its own to the agent, so that every request after a switch goes to the new one.
 */
import { once } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createProxyServer } from 'httpxy'
import { sleep } from '../../backoff.ts'
import type { Target } from './target.ts'

/** A held request waits no longer than this. */
const LONGEST_HOLD_MS = 10_000

export class AppProxy {
  readonly #proxy = createProxyServer({ agent: false, xfwd: true })
  readonly #server: http.Server
  readonly #upgraded = new Set<Duplex>()
  #target: Target | null = null
  #held: Promise<void> | null = null

  constructor() {
    // no limit for the whole of a request: uploads and streams may take their time
    this.#server = http.createServer({ requestTimeout: 0, keepAliveTimeout: 65_000 }, (request, response) => {
      void this.#route(response).then((target) => {
        if (response.destroyed) return
        if (!target) return answer(response, 503, 'Nothing is serving this deployment at the moment.')
        return this.#proxy.web(request, response, { target: { host: target.host, port: target.port } })
      })
    })
    this.#server.on('upgrade', (request, socket, head) => {
      this.#upgraded.add(socket)
      socket.on('error', () => undefined).once('close', () => this.#upgraded.delete(socket))
      void this.#route(socket).then((target) => {
        if (socket.destroyed) return
        if (!target) return refuse(socket, 503)
        const to = { target: { host: target.host, port: target.port } }
        return this.#proxy.ws(request, socket as Socket, to, head)
      })
    })
    this.#proxy.on('proxyRes', (upstream) => {
      // the agent closes each of its connections; the client's own goes on
      delete upstream.headers.connection
    })
    const opened = new WeakSet<Duplex>()
    this.#proxy.on('proxyReqWs', (upstream, _request, socket) => {
      upstream.once('upgrade', () => opened.add(socket))
      socket.once('close', () => upstream.destroy())
    })
    this.#proxy.on('error', (_error, _request, response) => {
      if (response instanceof http.ServerResponse)
        return answer(response, 502, 'The agent did not answer: it may just have stopped. Its deploy log says why.')
      const socket = response as Duplex | undefined
      if (socket && !opened.has(socket)) refuse(socket, 502)
    })
  }

  /** Where requests go from now on; null: they are answered with 503. */
  point(target: Target | null): void {
    this.#target = target
  }

  /** New requests wait until the returned function is called, at most 10 s. */
  hold(): () => void {
    const over = new AbortController()
    const held = sleep(LONGEST_HOLD_MS, over.signal).then(() => {
      if (this.#held === held) this.#held = null
    })
    this.#held = held
    return () => over.abort()
  }

  /** Throws EADDRINUSE when another program has the port. */
  async listen(port: number, host: string): Promise<void> {
    this.#server.listen({ port, host, exclusive: true })
    // no callback: those of attempts that fail would pile up
    await once(this.#server, 'listening')
  }

  /** No new connections; requests in flight have `drainMs`, then they are cut. */
  async close(drainMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    if (this.#target && drainMs > 0) await this.#target.idle(drainMs)
    this.#server.closeAllConnections()
    for (const socket of this.#upgraded) socket.destroy()
    await closed
  }

  /** Chooses the target and counts the exchange there in the same moment, so that no switch can come between. */
  async #route(exchange: http.ServerResponse | Duplex): Promise<Target | null> {
    if (this.#held) await this.#held
    if (!exchange.destroyed) this.#target?.carry(exchange)
    return this.#target
  }
}

/** The body has the shape of the control plane's own errors (contract 2). */
function answer(response: http.ServerResponse, status: 502 | 503, detail: string): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '2' })
  response.end(JSON.stringify({ detail, code: 'UNAVAILABLE' }))
}

function refuse(socket: Duplex, status: 502 | 503): void {
  if (!socket.writable) return
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nconnection: close\r\nretry-after: 2\r\n\r\n`)
}
