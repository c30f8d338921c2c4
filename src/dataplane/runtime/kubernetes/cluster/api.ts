/**
 * HTTP to the API server: JSON in and out, kept connections, a bound on calls in flight, and a limit on how long
 * each may take.
 *
 * Of @kubernetes/client-node only the kubeconfig is used (credentials.ts). Its typed calls, and
 * KubernetesObjectApi too, leave out members that their version of the API does not know when they read and
 * write, turn times into Dates, ask for API discovery first, have no time limit, and open a connection per call.
 */
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import { Limit } from '../../../limit.ts'
import { whenConnected } from './connected.ts'
import type { Credentials } from './credentials.ts'
import { ApiRefused, ClusterClosedError, LeaseOverError, Unreachable } from './errors.ts'
import { Scope } from './scope.ts'
import { refusal, unreachable } from './status.ts'

export interface ApiRequest {
  method: 'GET' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  /** what is tried, for messages: `list pods in namespace "a"` */
  what: string
  /** the body, or the answer, has values that no message may show */
  secret?: boolean
  /** it says nothing about the API server when this is slow: logs come from the node of their pod */
  fromNode?: boolean
  /** for a write: asked when the connection is there, in the tick in which the request goes out */
  held?: () => boolean
}

export interface ApiOptions {
  credentials: Credentials
  callsAtATime: number
  /** ms of one call */
  callMs: number
  /** ms of silence after which a connection is probed */
  silenceMs: number
  /** a call got no answer in time: connections that look alive may be dead */
  onTimeout: () => void
}

/** ms after an outage in which a refusal may only mean that an API server has not loaded accounts and roles yet */
const WAKING_MS = 30_000

export class Api {
  readonly #options: ApiOptions
  /** performance.now() of the last call that reached nobody */
  #awayAt = Number.NEGATIVE_INFINITY
  readonly #limit: Limit
  /** what is under way */
  readonly #scopes = new Set<Scope>()
  #closed = false

  constructor(options: ApiOptions) {
    this.#options = options
    this.#limit = new Limit(options.callsAtATime)
  }

  /** One call, not tried again. What the server answers as JSON. Throws ApiRefused, Unreachable and LeaseOverError. */
  async call<T>(request: ApiRequest, signal?: AbortSignal): Promise<T> {
    const scope = this.#scope(signal)
    try {
      const answer = async () => {
        scope.limit(this.#options.callMs)
        const response = await this.#opened(request, scope)
        return parsed<T>(response, await text(response))
      }
      return await this.#limit.run(scope.signal, answer, () => undefined)
    } catch (error) {
      throw this.#sorted(error, request, scope)
    } finally {
      scope.end()
    }
  }

  /** The body of an answer that may go on for long. Rejects like `call`; what happens later are errors of the stream. */
  async stream(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const scope = this.#scope(signal)
    // only the head of the answer has to come in time
    scope.limit(this.#options.callMs)
    try {
      const response = await this.#opened(request, scope)
      response.once('close', () => scope.end())
      return response
    } catch (error) {
      scope.end()
      throw this.#sorted(error, request, scope)
    } finally {
      scope.unlimited()
    }
  }

  /** Ends everything that is under way. */
  close(): void {
    this.#closed = true
    for (const scope of this.#scopes) scope.abort(closed())
    this.#options.credentials.close()
  }

  #scope(signal: AbortSignal | undefined): Scope {
    if (this.#closed) throw closed()
    const scope = new Scope(signal, () => this.#scopes.delete(scope))
    this.#scopes.add(scope)
    return scope
  }

  /** An answer that is 2xx, with its body to be read. */
  async #opened(request: ApiRequest, scope: Scope): Promise<IncomingMessage> {
    for (let first = true; ; first = false) {
      const response = await this.#send(request, scope)
      const status = response.statusCode!
      if (status >= 200 && status < 300) return response
      const body = await text(response)
      if (status === 401) this.#options.credentials.expire()
      // the token may have been changed since it was read
      if (status === 401 && first) continue
      const error = refusal(status, response.headers, body, request.what, request.secret ?? false)
      const waking = performance.now() - this.#awayAt < WAKING_MS
      throw waking && (status === 401 || status === 403) ? new Unreachable(error.message) : error
    }
  }

  async #send(request: ApiRequest, scope: Scope): Promise<IncomingMessage> {
    const { server, headers, agent } = await scope.unlessAborted(this.#options.credentials.get())
    const url = new URL(server + request.path)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const body = request.body === undefined ? undefined : Buffer.from(JSON.stringify(request.body))
    const { request: open } = url.protocol === 'http:' ? http : https
    const { signal } = scope
    return await new Promise((resolve, reject) => {
      const sent = open(url, {
        method: request.method,
        agent,
        signal,
        headers: {
          ...headers,
          accept: 'application/json',
          'user-agent': 'pilothouse',
          ...(body ? { 'content-type': request.contentType ?? 'application/json', 'content-length': body.length } : {}),
        },
      })
      whenConnected(sent, (socket) => {
        socket.setKeepAlive(true, this.#options.silenceMs)
        if (request.held?.() === false)
          sent.destroy(new LeaseOverError(`The lease was over before the call to ${request.what}`))
        else sent.end(body)
      })
      sent.on('response', resolve)
      sent.on('error', (error) => reject(Object.assign(error, { reused: sent.reusedSocket })))
    })
  }

  #sorted(error: unknown, request: ApiRequest, scope: Scope): unknown {
    if (scope.late) {
      if (!request.fromNode) {
        this.#awayAt = performance.now()
        this.#options.onTimeout()
      }
      return new Unreachable(`The API server did not answer in time (to ${request.what})`)
    }
    if (scope.signal.aborted) return scope.signal.reason
    if (error instanceof ApiRefused || error instanceof Unreachable || error instanceof LeaseOverError) return error
    const lost = unreachable(error, request.what)
    if (lost.retryAfterMs === null && !request.fromNode) this.#awayAt = performance.now()
    return lost
  }
}

/** Not by the error of JSON.parse: that quotes the text, which may have a Secret in it. */
function parsed<T>(response: IncomingMessage, body: string): T {
  if (!response.complete) throw new Error('the answer was cut off')
  try {
    return JSON.parse(body) as T
  } catch {
    throw new Error('the answer is not JSON')
  }
}

function closed(): ClusterClosedError {
  return new ClusterClosedError('The connection to the cluster was closed')
}
