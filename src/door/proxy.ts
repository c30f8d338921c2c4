/**
 * Forwards HTTP, streams and WebSockets of one deployment to the serving agent. Each start of an agent has separate connections, so
 * every request after a switch reaches the new agent.
 */
import type { EventEmitter } from 'node:events'
import http from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { createProxyServer } from 'httpxy'
import type { Upstream } from '../dataplane/process/door/messages.ts'
import { sleep } from '../platform/async/retry.ts'
import { resultWithin } from '../platform/async/time-limit.ts'
import { type Exchange, entryOf } from './access-log-entry.ts'
import { answer, refuse } from './answers.ts'
import { RequestBounds, Turns } from './bounds.ts'
import { endWebSocketProperly, OpenResponses } from './endings.ts'
import { RequestFigures } from './figures.ts'
import {
  expectsContinue,
  forwardEarlyHints,
  forwardTrailers,
  protectCookies,
  removeConnectionHeaders,
  removeSessionCookies,
  sanitizeResponse,
} from './headers.ts'
import type { DoorResponse } from './response.ts'
import type { Sleep } from './sleepers.ts'
import { addTraceIds } from './trace.ts'

/** longest wait of a request while the proxy is paused */
const MAX_PAUSE_MS = 10_000
/** time for clients to read the end of their answers when the proxy closes */
const CLOSE_MS = 1000
export const NOTHING_SERVES = 'Nothing is serving this deployment at the moment.'
const NOT_AWAKE = 'The agent was asleep, and its start takes too long or failed. Its deploy log says why. Try again.'
const NO_ANSWER = 'The agent did not answer: it may just have stopped. Its deploy log says why.'

/** Node throws for a higher one. */
const MAX_HTTP2_STATUS = 599

/**
 * An idle connection to an agent is closed after this time, in ms. Agents close theirs after 5 s or more (Node.js, uvicorn), so no
 * request is sent on a connection that the agent is closing.
 */
const IDLE_CONNECTION_MS = 1000

/** The agent of one start: its connections, and the requests, streams and WebSockets in flight. */
class Target {
  readonly upstream: Upstream
  /** for requests without a body: they can be sent again when an idle connection turns out to be closed */
  readonly agent = new http.Agent({ keepAlive: true, timeout: IDLE_CONNECTION_MS })
  /** the agent is being ended */
  isEnding = false
  #count = 0
  readonly #waiting = new Set<() => void>()

  constructor(upstream: Upstream) {
    this.upstream = upstream
  }

  /** Closes idle connections, now and as requests end. */
  retire(): void {
    // sockets of requests in flight are closed when they become free
    Object.assign(this.agent, { keepAlive: false })
    for (const socket of Object.values(this.agent.freeSockets).flat()) socket?.destroy()
  }

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
  readonly bounds = new RequestBounds()
  readonly figures = new RequestFigures()
  /** for requests that are not admitted yet */
  readonly turns = new Turns()
  // an `agent` here would override that of each call
  readonly #proxy = createProxyServer({ xfwd: true })
  readonly #open = new OpenResponses()
  /** by client socket; the function ends it */
  readonly #upgraded = new Map<Duplex, () => void>()
  readonly #targets = new Map<string, Target>()
  /** by client's request: the last request to an agent, until an answer arrives */
  readonly #sent = new WeakMap<http.IncomingMessage, http.ClientRequest>()
  readonly #onRequest: () => void
  #target: Target | null = null
  #paused: Promise<void> | null = null
  #asleep: Sleep | null = null
  /** performance.now() when an exchange ended, or when another agent began to serve */
  #activeAt = performance.now()
  readonly #isEnding = new WeakMap<Duplex, () => boolean>()

  /** `onRequest`: called for each request to an agent. */
  constructor(onRequest: () => void = () => undefined) {
    this.#onRequest = onRequest
    const clients = new WeakMap<Duplex, Duplex>()
    this.#proxy.on('proxyReq', (sent, request, response) => {
      // its body was too large
      if (response.writableEnded) return void sent.destroy()
      this.#sent.set(request, sent)
      sent.on('information', (hint) => forwardEarlyHints(hint, request, response))
      // httpxy ends the forwarded request in a later handler
      if (isChunked(request)) request.once('end', () => forwardTrailers(request, sent))
      sent.once('upgrade', (_response, socket) => {
        socket.destroy()
        sent.emit('error', new Error('The agent switched protocols without a request to.'))
      })
    })
    this.#proxy.on('proxyRes', (agentResponse, request, response) => {
      this.#sent.delete(request)
      if (!sanitizeResponse(agentResponse) || (isHttp2(request) && agentResponse.statusCode! > MAX_HTTP2_STATUS)) {
        agentResponse.destroy()
        return answer(response, 502, NO_ANSWER)
      }
      agentResponse.headers.connection = response.shouldKeepAlive ? 'keep-alive' : 'close'
      agentResponse.headers['x-request-id'] ??= request.headers['x-request-id']
      protectCookies(agentResponse, request)
      if (isChunked(agentResponse)) agentResponse.once('end', () => forwardTrailers(agentResponse, response))
    })
    const opened = new WeakSet<Duplex>()
    this.#proxy.on('proxyReqWs', (sent, request, socket) => {
      // must run before httpxy's handlers, which forward the answer
      const protect = (answer: http.IncomingMessage) => protectCookies(answer, request)
      sent.once('upgrade', protect).once('response', protect)
      sent.once('upgrade', () => opened.add(socket)).once('response', () => opened.add(socket))
      sent.once('upgrade', (_response, agent) => clients.set(agent, socket))
      socket.once('close', () => sent.destroy())
    })
    // httpxy has connected both sockets; an earlier listener would take the agent's first frames
    this.#proxy.on('proxySocket', (agent) => {
      const client = clients.get(agent)!
      this.bounds.closeWhenIdle(client)
      this.figures.countWebSocket(client)
      this.#upgraded.set(client, endWebSocketProperly(client, agent, this.#isEnding.get(client)!))
    })
    this.#proxy.on('error', (_error, request, response) => {
      if (response && 'writeHead' in response) {
        if (response.writableEnded) return
        // the agent closed the idle connection while the request was sent on it
        if (request && this.#sent.get(request)?.reusedSocket)
          return this.#forward(request, response as DoorResponse, false)
        return answer(response, 502, NO_ANSWER)
      }
      const socket = response as Duplex | undefined
      if (socket && !opened.has(socket)) refuse(socket, 502)
    })
  }

  /** Sends new requests to this upstream; null: answers them with 503. */
  setUpstream(upstream: Upstream | null): void {
    if (upstream?.id === this.#target?.upstream.id) return
    this.#activeAt = performance.now()
    const before = this.#target
    this.#target = upstream && new Target(upstream)
    if (this.#target) this.#targets.set(this.#target.upstream.id, this.#target)
    // no new request can reach the previous upstream
    before?.retire()
    if (before) void before.idle().then(() => this.#targets.delete(before.upstream.id))
  }

  /** Resolves when nothing is in flight to that upstream. */
  async idle(id: string): Promise<void> {
    await this.#targets.get(id)?.idle()
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

  /** New requests wait for the agent's start; null: they need not wait any more. */
  setAsleep(asleep: Sleep | null): void {
    this.#asleep?.end()
    this.#asleep = asleep
  }

  /** ms since the last request, stream or WebSocket ended; null: one is open. */
  get quietMs(): number | null {
    return this.#open.size + this.#upgraded.size > 0 ? null : performance.now() - this.#activeAt
  }

  /** The agents of these upstreams are ending: completes the responses that they leave open. */
  markEnding(ids: string[]): void {
    for (const id of ids) {
      const target = this.#targets.get(id)
      if (target) target.isEnding = true
    }
  }

  /** Ends requests in flight. */
  async close(): Promise<void> {
    const targets = [...this.#targets.values()]
    this.markEnding([...this.#targets.keys()])
    for (const response of this.#open.all) if (!response.writableEnded) answer(response, 503, NOTHING_SERVES)
    for (const end of this.#upgraded.values()) end()
    await resultWithin(CLOSE_MS, Promise.all(targets.map((target) => target.idle())))
    for (const response of this.#open.all) response.destroy()
    for (const socket of this.#upgraded.keys()) socket.destroy()
    for (const target of targets) target.retire()
  }

  /** Calls `forward` with the target when the request may begin; immediately if nothing is in its way. */
  #route(exchange: Exchange, forward: (target: Target | null) => void): void {
    if (this.#paused || this.#asleep) void this.#wait().then(() => this.#begin(exchange, forward))
    else this.#begin(exchange, forward)
  }

  async #wait(): Promise<void> {
    await this.#paused
    await this.#asleep?.serves()
  }

  /** Chooses the target and counts the exchange synchronously, so no switch can happen between. */
  #begin(exchange: Exchange, forward: (target: Target | null) => void): void {
    const target = this.#target
    if (target && !exchange.destroyed) target.track(exchange)
    if (target) this.#onRequest()
    const entry = entryOf(exchange)
    if (entry && target) entry.upstream = target.upstream
    forward(target)
  }

  /** Forwards a request of a client. */
  serve(request: http.IncomingMessage, response: DoorResponse): void {
    this.figures.count(request, response)
    const refusal = this.bounds.admit(request, response)
    if (refusal) return void this.bounds.answerRefused(request, response, refusal)
    if (expectsContinue(request)) response.writeContinue()
    addTraceIds(request)
    removeSessionCookies(request)
    removeConnectionHeaders(request)
    this.#open.add(response, () => {
      this.#activeAt = performance.now()
    })
    this.#forward(request, response)
  }

  /** Forwards a client's WebSocket. */
  upgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): void {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return void refuse(socket, 400)
    const refusal = this.bounds.admit(request, socket)
    if (refusal) return void this.bounds.refuseUpgrade(socket, refusal)
    addTraceIds(request)
    removeSessionCookies(request)
    this.#upgraded.set(socket, () => refuse(socket, 503))
    socket.once('close', () => {
      this.#upgraded.delete(socket)
      this.#activeAt = performance.now()
    })
    this.#route(socket, (target) => {
      if (socket.destroyed) return
      if (!target) return refuse(socket, 503)
      this.#isEnding.set(socket, () => target.isEnding)
      void this.#proxy.ws(request, socket as Socket, { target: placeOf(target), agent: false }, head)
    })
  }

  #forward(request: http.IncomingMessage, response: DoorResponse, reuse = canBeRepeated(request)): void {
    this.#route(response, (target) => {
      // it may have got an answer when the address was closed
      if (response.destroyed || response.writableEnded) return
      if (!target) return answer(response, 503, this.#asleep ? NOT_AWAKE : NOTHING_SERVES)
      response.agent = target
      const buffer = hasBody(request)
        ? this.bounds.limitedBody(request, response, () => this.#sent.get(request)?.destroy())
        : NO_BODY
      const options = { target: placeOf(target), agent: reuse && target.agent, ...(buffer && { buffer }) }
      void this.#proxy.web(request, response, options)
    })
  }
}

/** Only such messages have trailers. */
const isChunked = ({ headers }: http.IncomingMessage) => headers['transfer-encoding'] !== undefined

const isHttp2 = ({ httpVersionMajor }: http.IncomingMessage) => httpVersionMajor > 1

const placeOf = ({ upstream: { host, port } }: Target) => ({ host, port })

const hasBody = ({ headers }: http.IncomingMessage) =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

/** httpxy pipes it instead of the request: an empty body takes 5 % of the CPU time of a request. */
const NO_BODY = { pipe: (sent: http.ClientRequest) => sent.end() } as unknown as Readable

/** Whether the request may be sent twice (RFC 9110, 9.2.2) and has no body that is gone by then. */
const canBeRepeated = (request: http.IncomingMessage) =>
  (request.method === 'GET' || request.method === 'HEAD') && !hasBody(request)
