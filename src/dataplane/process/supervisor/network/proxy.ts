/**
 * The stable address of a deployment: forwards HTTP, streams and WebSockets to the serving agent.
 * Each request opens a new upstream connection, so every request after a switch reaches the new agent.
 */
import { type EventEmitter, once } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createProxyServer } from 'httpxy'
import { sleep } from '../../../../platform/async/retry.ts'
import { resultWithin } from '../../../../platform/async/time-limit.ts'
import { upgradableMessages } from '../../../../platform/http/upgradable.ts'
import { endBodyProperly, endWebSocketProperly } from './endings.ts'
import { protectSessionCookies, removeSessionCookies, removeUpgradeOffers, sanitizeResponse } from './headers.ts'
import type { Upstream } from './messages.ts'

/** longest wait of a request while the proxy is paused */
const MAX_PAUSE_MS = 10_000
/** time for clients to read the end of their answers when the proxy closes */
const CLOSE_MS = 1000
const NOTHING_SERVES = 'Nothing is serving this deployment at the moment.'
const NO_ANSWER = 'The agent did not answer: it may just have stopped. Its deploy log says why.'

/** Counts the requests, streams and WebSockets that are in flight to one upstream. */
class InFlight {
  /** the agent is being ended */
  ending = false
  #count = 0
  readonly #waiting = new Set<() => void>()

  /** Counts `exchange`, a response or socket, until it closes. */
  track(exchange: EventEmitter): void {
    this.#count++
    exchange.once('close', () => {
      this.#count--
      if (this.#count > 0) return
      for (const resolve of this.#waiting) resolve()
      this.#waiting.clear()
    })
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve()
      else this.#waiting.add(resolve)
    })
  }
}

export class AppProxy {
  readonly #proxy = createProxyServer({ agent: false, xfwd: true })
  readonly #server: http.Server
  readonly #open = new Set<http.ServerResponse>()
  /** by client socket; the function ends it */
  readonly #upgraded = new Map<Duplex, () => void>()
  readonly #inFlight = new Map<string, InFlight>()
  readonly #onRequest: () => void
  #upstream: Upstream | null = null
  #paused: Promise<void> | null = null

  /** `onRequest`: called for each request to an agent. */
  constructor(onRequest: () => void = () => undefined) {
    this.#onRequest = onRequest
    const isEnding = new WeakMap<Duplex, () => boolean>()
    const clients = new WeakMap<Duplex, Duplex>()
    // no time limit for a whole request: uploads and streams may be slow
    const options = { requestTimeout: 0, keepAliveTimeout: 65_000, IncomingMessage: upgradableMessages(() => true) }
    this.#server = http.createServer(options, (request, response) => {
      removeSessionCookies(request)
      removeUpgradeOffers(request)
      this.#open.add(response)
      response.once('close', () => this.#open.delete(response))
      void this.#route(response).then((upstream) => {
        if (response.destroyed) return
        if (!upstream) return answer(response, 503, NOTHING_SERVES)
        endBodyProperly(response, this.#isEnding(upstream))
        return this.#proxy.web(request, response, { target: { host: upstream.host, port: upstream.port } })
      })
    })
    // accept fails while no file descriptor is free; `listen()` gets its own errors, too
    this.#server.on('error', () => undefined)
    this.#server.on('upgrade', (request, socket, head) => {
      removeSessionCookies(request)
      this.#upgraded.set(socket, () => refuse(socket, 503))
      socket.on('error', () => undefined).once('close', () => this.#upgraded.delete(socket))
      void this.#route(socket).then((upstream) => {
        if (socket.destroyed) return
        if (!upstream) return refuse(socket, 503)
        const to = { target: { host: upstream.host, port: upstream.port } }
        isEnding.set(socket, this.#isEnding(upstream))
        return this.#proxy.ws(request, socket as Socket, to, head)
      })
    })
    this.#proxy.on('proxyReq', (sent) => {
      sent.once('upgrade', (_response, socket) => {
        socket.destroy()
        sent.emit('error', new Error('The agent switched protocols without a request to.'))
      })
    })
    this.#proxy.on('proxyRes', (agentResponse, _request, response) => {
      if (!sanitizeResponse(agentResponse)) {
        agentResponse.destroy()
        return answer(response, 502, NO_ANSWER)
      }
      protectSessionCookies(agentResponse)
    })
    const opened = new WeakSet<Duplex>()
    this.#proxy.on('proxyReqWs', (sent, _request, socket) => {
      // must run before httpxy's handlers, which forward the answer
      sent.once('upgrade', protectSessionCookies).once('response', protectSessionCookies)
      sent.once('upgrade', () => opened.add(socket)).once('response', () => opened.add(socket))
      sent.once('upgrade', (_response, agent) => clients.set(agent, socket))
      socket.once('close', () => sent.destroy())
    })
    // httpxy has connected both sockets; an earlier listener would take the agent's first frames
    this.#proxy.on('proxySocket', (agent) => {
      const client = clients.get(agent)!
      this.#upgraded.set(client, endWebSocketProperly(client, agent, isEnding.get(client)!))
    })
    this.#proxy.on('error', (_error, _request, response) => {
      if (response instanceof http.ServerResponse) return answer(response, 502, NO_ANSWER)
      const socket = response as Duplex | undefined
      if (socket && !opened.has(socket)) refuse(socket, 502)
    })
  }

  /** Sends new requests to this upstream; null: answers them with 503. */
  setUpstream(upstream: Upstream | null): void {
    if (upstream?.id === this.#upstream?.id) return
    const before = this.#upstream
    this.#upstream = upstream
    if (upstream) this.#inFlight.set(upstream.id, new InFlight())
    // no new request can reach the previous upstream
    if (before) void this.idle(before.id).then(() => this.#inFlight.delete(before.id))
  }

  /** Resolves when nothing is in flight to that upstream. */
  async idle(id: string): Promise<void> {
    await this.#inFlight.get(id)?.idle()
  }

  /** New requests wait until the returned function is called, at most 10 s. */
  pause(): () => void {
    const over = new AbortController()
    const paused = sleep(MAX_PAUSE_MS, over.signal).then(() => {
      if (this.#paused === paused) this.#paused = null
    })
    this.#paused = paused
    return () => over.abort()
  }

  /** Throws EADDRINUSE when another program has the port. */
  async listen(port: number, host: string): Promise<void> {
    this.#server.listen({ port, host, exclusive: true })
    // no callback: listeners of failed attempts would accumulate
    await once(this.#server, 'listening')
  }

  /** Stops new connections. Requests in flight continue. The proxy can listen on another address immediately. */
  stopListening(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** The agents of these upstreams are ending: completes the responses that they leave open. */
  markEnding(ids: string[]): void {
    for (const id of ids) {
      const inFlight = this.#inFlight.get(id)
      if (inFlight) inFlight.ending = true
    }
  }

  /** Stops new connections and ends requests in flight. */
  async close(): Promise<void> {
    this.stopListening()
    const upstreams = [...this.#inFlight.keys()]
    this.markEnding(upstreams)
    for (const response of this.#open) if (!response.writableEnded) answer(response, 503, NOTHING_SERVES)
    for (const end of this.#upgraded.values()) end()
    await resultWithin(CLOSE_MS, Promise.all(upstreams.map((id) => this.idle(id))))
    this.#server.closeAllConnections()
    for (const socket of this.#upgraded.keys()) socket.destroy()
  }

  #isEnding({ id }: Upstream): () => boolean {
    const inFlight = this.#inFlight.get(id)
    return () => inFlight?.ending ?? false
  }

  /** Chooses the upstream and counts the exchange synchronously, so no switch can happen between. */
  async #route(exchange: http.ServerResponse | Duplex): Promise<Upstream | null> {
    if (this.#paused) await this.#paused
    const upstream = this.#upstream
    if (upstream && !exchange.destroyed) this.#inFlight.get(upstream.id)?.track(exchange)
    if (upstream) this.#onRequest()
    return upstream
  }
}

/** The body has the format of API errors (docs/api-rules.md#errors). */
function answer(response: http.ServerResponse, status: 502 | 503, detail: string): void {
  if (response.headersSent) return void response.destroy()
  // headers of an agent answer that broke before its first byte; its length is wrong here
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  response.writeHead(status, http.STATUS_CODES[status], { 'content-type': 'application/json', 'retry-after': '2' })
  response.end(JSON.stringify({ detail, code: 'UNAVAILABLE' }))
}

function refuse(socket: Duplex, status: 502 | 503): void {
  if (!socket.writable) return
  socket.end(`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\nconnection: close\r\nretry-after: 2\r\n\r\n`)
}
