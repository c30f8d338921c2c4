/** Listens on one port and finds the deployment of each request: by host name, by path, or the only one of the port. */
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import type { Bounds, Place } from '../dataplane/process/door/messages.ts'
import { backoff, sleep } from '../platform/async/retry.ts'
import { resultWithin } from '../platform/async/time-limit.ts'
import { upgradableMessages } from '../platform/http/upgradable.ts'
import type { AccessLog } from './access-log.ts'
import { type Exchange, entryOf } from './access-log-entry.ts'
import { answer, answerRefusal, refuse } from './answers.ts'
import { acceptConnections } from './connections.ts'
import { allowReading, answerPreflight } from './dashboard-calls.ts'
import { closeWhenFinished, closeWithSocket, OpenResponses } from './endings.ts'
import type { Asked, Guard, Verdict } from './guard.ts'
import { isByPath, noteRemovedPrefix } from './headers.ts'
import { Http2 } from './http2.ts'
import { type AppProxy, NOTHING_SERVES } from './proxy.ts'
import { type DoorResponse, Http1Response } from './response.ts'
import { hostOf, splitPath } from './route.ts'
import type { CertificateStore } from './stores.ts'

/** After its start, a door waits this long for the keeper of a name that it does not know. */
const ARRIVAL_MS = 3000
/** for the headers of a request, until a keeper sends the setting */
const HEADER_TIMEOUT_MS = 60_000
/** interval of the check for slow headers */
const HEADER_CHECK_MS = 1000
const MAX_RESPONSE_LISTENERS = 20
const UNKNOWN = 'No deployment has this address.'
const KNOWN_HOST = '/.well-known/pilothouse/host?'
/** the machine has no IPv6 */
const NO_SUCH_FAMILY = ['EAFNOSUPPORT', 'EADDRNOTAVAIL']
/** The other loopback, or all interfaces of the other family. No agent may listen on the address that a browser tries first. */
const OTHER_FAMILY: Record<string, string> = { '127.0.0.1': '::1', '::1': '127.0.0.1', '0.0.0.0': '::' }

/** A deployment of this port. */
export interface Tenant {
  /** its id */
  deployment: string
  place: Place
  proxy: AppProxy
  /** Called when the port was opened, and when that failed. `problem`: an error code; null: it is open. */
  onListening(port: number, problem: string | null): void
}

export class Listener {
  readonly #guard: Guard
  readonly #host: string
  readonly #port: number
  readonly #certificates: CertificateStore
  readonly #accessLog: AccessLog
  #usesTls: boolean
  readonly #servers: http.Server[] = []
  readonly #http2 = new Http2((request, response) => this.#receive(request, response))
  readonly #tenants = new Set<Tenant>()
  /** by host name */
  readonly #hosts = new Map<string, Tenant>()
  /** by the name in `/~name/` */
  readonly #names = new Map<string, Tenant>()
  readonly #byId = new Map<string, Tenant>()
  readonly #open = new OpenResponses()
  /** called when a deployment comes */
  readonly #arrivals = new Set<() => void>()
  readonly #closing = new AbortController()
  #timeouts = { headersTimeout: HEADER_TIMEOUT_MS, timeout: 0 }
  #arrivesUntil = Number.POSITIVE_INFINITY
  #isOpen = false
  #handedOver: Promise<void> | null = null

  constructor(
    { host, port, tls = false }: Pick<Place, 'host' | 'port' | 'tls'>,
    { guard, certificates, accessLog }: { guard: Guard; certificates: CertificateStore; accessLog: AccessLog },
  ) {
    this.#guard = guard
    this.#certificates = certificates
    this.#accessLog = accessLog
    this.#usesTls = tls
    this.#host = host
    this.#port = port
  }

  get isUnused(): boolean {
    return this.#tenants.size === 0
  }

  add(tenant: Tenant): void {
    this.#tenants.add(tenant)
    const { name, hosts = [], tls = false } = tenant.place
    this.#usesTls = tls
    this.#byId.set(tenant.deployment, tenant)
    if (name !== undefined) this.#names.set(name, tenant)
    for (const host of hosts) this.#hosts.set(host, tenant)
    for (const arrive of this.#arrivals) arrive()
    this.report(tenant)
  }

  /** Tells the deployment that the port is open, if it is. */
  report(tenant: Tenant): void {
    if (this.#isOpen) tenant.onListening(this.#port, null)
  }

  remove(tenant: Tenant): void {
    this.#tenants.delete(tenant)
    const forget = (routes: Map<string, Tenant>, key: string) => routes.get(key) === tenant && routes.delete(key)
    const { name, hosts = [] } = tenant.place
    forget(this.#byId, tenant.deployment)
    if (name !== undefined) forget(this.#names, name)
    for (const host of hosts) forget(this.#hosts, host)
  }

  /** Listens on sockets of the door before this one. Throws when a socket is not open. */
  async inherit(fds: number[]): Promise<void> {
    this.#arrivesUntil = 0
    for (const fd of fds) await this.#listen({ fd })
    this.#isOpen = true
  }

  /** Listens. Retries without limit: an ending supervisor of an earlier version, or another program, may still have the port. */
  async open(): Promise<void> {
    const { signal } = this.#closing
    for (let tries = 0; !signal.aborted; tries++) {
      const problem = await this.#tryToOpen()
      if (signal.aborted) return this.close()
      this.#isOpen = problem === null
      this.#arrivesUntil = performance.now() + ARRIVAL_MS
      for (const tenant of this.#tenants) tenant.onListening(this.#port, problem)
      if (problem === null) return
      await sleep(backoff(Math.max(0, tries - 10), 200, 5000), signal)
    }
  }

  /** File descriptors of the listening sockets; empty: it does not listen. */
  get fds(): number[] {
    // not documented, but the only way to hand a listening socket to a process that outlives this one
    return this.#servers.flatMap(
      (server) => (server as unknown as { _handle: { fd: number } | null })._handle?.fd ?? [],
    )
  }

  /** All deployments of the port have the same: they are settings of the server. */
  setTimeouts({ headerMs, idleMs }: Pick<Bounds, 'headerMs' | 'idleMs'>): void {
    this.#timeouts = { headersTimeout: headerMs, timeout: idleMs ?? 0 }
    for (const server of this.#servers) Object.assign(server, this.#timeouts)
    this.#http2.idleMs = this.#timeouts.timeout
  }

  /** Stops new connections. Requests in flight continue, but clients must open new connections for the next ones. */
  close(): void {
    this.#closing.abort()
    for (const response of this.#open.all) response.shouldKeepAlive = false
    this.#http2.close()
    for (const server of this.#servers) if (server.listening) server.close()
  }

  /** Stops listening and asks clients to open new connections. Resolves when no connection is left. */
  handOver(): Promise<void> {
    this.#closing.abort()
    this.#handedOver ??= Promise.all(this.#servers.map(drained)).then(() => undefined)
    for (const response of this.#open.all) response.shouldKeepAlive = false
    this.#http2.close()
    return this.#handedOver
  }

  /** Returns the code of the error; null: all sockets are open. */
  async #tryToOpen(): Promise<string | null> {
    const { place } = [...this.#tenants][0] ?? {}
    const other = place?.name === undefined ? undefined : OTHER_FAMILY[this.#host]
    try {
      await this.#listen({ port: this.#port, host: this.#host, exclusive: true })
      if (other) await this.#listen({ port: this.#port, host: other, ipv6Only: true, exclusive: true })
      return null
    } catch (error) {
      const { code = 'unknown' } = error as NodeJS.ErrnoException
      if (this.#servers.length > 0 && NO_SUCH_FAMILY.includes(code)) return null
      for (const server of this.#servers.splice(0)) server.close()
      return code
    }
  }

  async #listen(where: net.ListenOptions & { fd?: number }): Promise<void> {
    // no time limit for a whole request: uploads and streams may be slow
    const options = {
      requestTimeout: 0,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: HEADER_CHECK_MS,
      IncomingMessage: upgradableMessages(() => true),
      ServerResponse: Http1Response,
    }
    const receive = (request: http.IncomingMessage, response: http.ServerResponse) =>
      this.#receive(request, response as DoorResponse)
    const server = http.createServer(options, receive)
    // the proxy sends 100 Continue when it forwards the request
    server.on('checkContinue', receive)
    const certificates = this.#certificates
    acceptConnections(server, { http2: this.#http2, certificates, usesTls: () => this.#usesTls })
    // accept fails while no file descriptor is free; `listen()` gets its own errors, too
    server.on('error', () => undefined)
    server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined)
      closeWhenFinished(socket)
      this.#upgrade(request, socket, head)
    })
    server.listen(where)
    await once(server, 'listening')
    Object.assign(server, this.#timeouts)
    this.#servers.push(server)
  }

  #receive(request: http.IncomingMessage, response: DoorResponse): void {
    // several parts of the door wait for its end
    response.setMaxListeners(MAX_RESPONSE_LISTENERS)
    if (!response.socket) closeWithSocket(response, request.socket)
    if (this.#closing.signal.aborted) response.shouldKeepAlive = false
    this.#open.add(response)
    if (this.#accessLog.isOn) this.#accessLog.begin(request, response, this.#guard.clientOf(request))
    this.#serve(request, response)
  }

  #serve(request: http.IncomingMessage, response: DoorResponse): void {
    const { dashboard } = this.#guard
    if (answerPreflight(request, response, dashboard)) return
    allowReading(request, response, dashboard)
    const isQuestion = request.url!.startsWith(KNOWN_HOST) && this.#guard.isProxy(request)
    this.#guard.removeForged(request)
    const found = this.#find(request)
    if (found === 'invalid') answer(response, 400, INVALID_HOST)
    else if (!found && isQuestion) this.#answerKnown(request, response)
    else if (!found && this.#mayArrive) void this.#arrives(request).then((late) => this.#admit(request, late, response))
    else if (!found) this.#admit(request, null, response)
    else found.proxy.turns.take(() => this.#admit(request, found, response))
  }

  /** Asks the guard, then forwards the request. `tenant`: null when no keeper has the address. */
  #admit(request: http.IncomingMessage, tenant: Tenant | null, response: DoorResponse): void {
    const asked = this.#asked(request, tenant)
    withVerdict(this.#guard.check(request, asked), (verdict) => {
      if (this.#accessLog.isOn) noteDecision(response, { asked, tenant, verdict })
      if (response.destroyed) return
      if (!verdict.allow) answerRefusal(response, verdict)
      else if (tenant) tenant.proxy.serve(request, response)
      else if (asked) answer(response, 503, NOTHING_SERVES)
      else answer(response, 404, UNKNOWN)
    })
  }

  #upgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#accessLog.isOn) this.#accessLog.beginUpgrade(request, socket, this.#guard.clientOf(request))
    this.#guard.removeForged(request)
    const found = this.#find(request)
    const admit = (tenant: Tenant | null) => {
      if (socket.destroyed) return
      const asked = this.#asked(request, tenant)
      withVerdict(this.#guard.check(request, asked), (verdict) => {
        if (this.#accessLog.isOn) noteDecision(socket, { asked, tenant, verdict })
        if (!verdict.allow)
          refuse(socket, 'status' in verdict ? verdict.status : 400, 'headers' in verdict ? verdict.headers : {})
        else if (tenant) tenant.proxy.upgrade(request, socket, head)
        else refuse(socket, asked ? 503 : 404)
      })
    }
    if (found === 'invalid') refuse(socket, 400)
    else if (!found && this.#mayArrive) void this.#arrives(request).then(admit)
    else if (!found) admit(null)
    else found.proxy.turns.take(() => admit(found))
  }

  #asked(request: http.IncomingMessage, tenant: Tenant | null): Asked | null {
    const ownHost = tenant?.place.name !== undefined && !isByPath(request)
    if (tenant) return { deployment: tenant.deployment, named: tenant.place.name !== undefined, ownHost }
    return this.#guard.find(hostOf(request) ?? '', splitPath(request.url!)?.name ?? null)
  }

  get #mayArrive(): boolean {
    return performance.now() < this.#arrivesUntil
  }

  /** Caddy asks this before it gets a certificate (`ask` of on_demand_tls). */
  #answerKnown(request: http.IncomingMessage, response: http.ServerResponse): void {
    const domain = new URL(request.url!, 'http://door').searchParams.get('domain')?.toLowerCase() ?? ''
    const isKnown = this.#hosts.has(domain) || this.#guard.find(domain, null) !== null
    response.writeHead(isKnown ? 200 : 404).end()
  }

  /** Null: unknown. Removes the prefix from the path of a request by path. */
  #find(request: http.IncomingMessage): Tenant | null | 'invalid' {
    const [first] = this.#tenants
    if (first && first.place.name === undefined) return first
    const host = hostOf(request)
    if (host === null) return 'invalid'
    const byHost = this.#hosts.get(host) ?? this.#byId.get(this.#guard.find(host, null)?.deployment ?? '')
    if (byHost) return byHost
    const path = splitPath(request.url!)
    const byName = path && this.#names.get(path.name)
    if (!path || !byName) return null
    request.url = path.rest
    noteRemovedPrefix(request, `/~${path.name}`)
    return byName
  }

  /** Keepers come within moments after the start of a door. Resolves with null when none did. */
  async #arrives(request: http.IncomingMessage): Promise<Tenant | null> {
    for (;;) {
      const left = this.#arrivesUntil - performance.now()
      if (left <= 0) return null
      const arrival = new Promise<void>((resolve) => {
        const arrive = () => {
          this.#arrivals.delete(arrive)
          resolve()
        }
        this.#arrivals.add(arrive)
      })
      await resultWithin(left, arrival)
      const found = this.#find(request)
      if (found !== null && found !== 'invalid') return found
    }
  }
}

/** Calls `decide` immediately when there is nothing to wait for. */
function withVerdict(verdict: Verdict | Promise<Verdict>, decide: (verdict: Verdict) => void): void {
  if (verdict instanceof Promise) void verdict.then(decide)
  else decide(verdict)
}

interface Decision {
  asked: Asked | null
  tenant: Tenant | null
  verdict: Verdict
}

/** For the access log. */
function noteDecision(exchange: Exchange, { asked, tenant, verdict }: Decision): void {
  const deployment = asked?.deployment ?? null
  const name = tenant?.place.name ?? null
  Object.assign(entryOf(exchange) ?? {}, { deployment, name, verdict })
}

const INVALID_HOST = 'The request must have a path, and name one host in its Host header.'

/** Resolves when no connection is left. */
async function drained(server: http.Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.once('close', resolve))
  // `http.Server.close` would also close idle connections, on which a client may be sending a request
  net.Server.prototype.close.call(server)
  const connections = await new Promise<number>((resolve) => {
    server.getConnections((_, count) => resolve(count))
  })
  if (connections > 0) await closed
}
