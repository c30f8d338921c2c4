/**
 * HTTP to the API server: JSON in and out, kept connections, a bound on calls in flight, and a limit on how long
 * each may take.
 *
 * Of @kubernetes/client-node only the kubeconfig is used (credentials.ts). Its typed calls, and
 * KubernetesObjectApi too, leave out members that their version of the API does not know when they read and
 * write, turn times into Dates, ask for API discovery first, have no time limit, and open a connection per call.
 */
import type { Readable } from 'node:stream'
import { Semaphore } from '../../../../platform/async/semaphore.ts'
import { AbortScope } from '../../../../platform/async/time-limit.ts'
import { type HttpResponse, readText } from '../../../../platform/http/client.ts'
import { Credentials } from './credentials.ts'
import { ApiRefused, ClusterClosedError, LeaseOverError, Unreachable } from './errors.ts'
import { refusal, unreachable } from './status.ts'

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  /** what is tried, for messages: `list pods in namespace "a"` */
  action: string
  /** the body, or the answer, has values that no message may show */
  secret?: boolean
  /** it says nothing about the API server when this is slow: logs come from the node of their pod */
  fromNode?: boolean
  /** for a write: asked when its connection is up, in the tick in which the request goes out */
  leaseValid?: () => boolean
}

export interface ApiOptions {
  /** default: the environment's */
  kubeconfig: string | undefined
  callsAtATime: number
  /** ms of one call */
  callMs: number
  /** ms of silence after which a connection is probed */
  silenceMs: number
  /** a call got no answer in time: connections that look alive may be dead */
  onTimeout: () => void
}

/** ms after an outage in which a refusal may only mean that an API server has not loaded accounts and roles yet */
const API_SERVER_WARMUP_MS = 30_000
/** of one answer: far more than a page of a list, or the largest object that etcd keeps */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024

export class Api {
  readonly #options: ApiOptions
  readonly #credentials: Credentials
  /** performance.now() of the last call that reached nobody */
  #awayAt = Number.NEGATIVE_INFINITY
  readonly #limit: Semaphore
  /** what is under way */
  readonly #scopes = new Set<AbortScope>()
  #closed = false

  /** Throws when the kubeconfig is of no use. */
  constructor(options: ApiOptions) {
    this.#options = options
    const { kubeconfig, callsAtATime, callMs, silenceMs } = options
    // the time of the call is up before that: it is the call that got no answer
    this.#credentials = new Credentials(kubeconfig, { connectMs: 2 * callMs, probeMs: silenceMs })
    this.#limit = new Semaphore(callsAtATime)
  }

  /** One call, not tried again. What the server answers as JSON. Throws ApiRefused, Unreachable and LeaseOverError. */
  async call<T>(request: ApiRequest, signal?: AbortSignal): Promise<T> {
    const scope = this.#scope(signal)
    try {
      const answer = async () => {
        scope.limit(this.#options.callMs)
        const { body } = await this.#opened(request, scope)
        return parsed<T>(await readText(body, MAX_RESPONSE_BYTES))
      }
      return await this.#limit.run(scope.signal, answer)
    } catch (error) {
      throw this.#sorted(error, request, scope)
    } finally {
      scope.end()
    }
  }

  /** The body of an answer that may go on for long. Rejects like `call`; what happens later are errors of the stream. */
  async stream(request: ApiRequest, signal: AbortSignal): Promise<Readable> {
    const scope = this.#scope(signal)
    // only the head of the answer has to come in time
    scope.limit(this.#options.callMs)
    try {
      const { body } = await this.#opened(request, scope)
      body.once('close', () => scope.end())
      return body
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
    this.#credentials.close()
  }

  #scope(signal: AbortSignal | undefined): AbortScope {
    if (this.#closed) throw closed()
    const scope = new AbortScope(signal, () => this.#scopes.delete(scope))
    this.#scopes.add(scope)
    return scope
  }

  /** An answer that is 2xx, with its body to be read. */
  async #opened(request: ApiRequest, scope: AbortScope): Promise<HttpResponse> {
    for (let first = true; ; first = false) {
      const answer = await this.#send(request, scope)
      const { status, headers } = answer
      if (status >= 200 && status < 300) return answer
      const body = await readText(answer.body, MAX_RESPONSE_BYTES)
      if (status === 401) this.#credentials.expire()
      // the token may have been changed since it was read
      if (status === 401 && first) continue
      const error = refusal(status, headers, body, request.action, request.secret ?? false)
      const waking = performance.now() - this.#awayAt < API_SERVER_WARMUP_MS
      throw waking && (status === 401 || status === 403) ? new Unreachable(error.message) : error
    }
  }

  async #send(
    { method, path, query = {}, body, contentType, action: what, leaseValid }: ApiRequest,
    scope: AbortScope,
  ): Promise<HttpResponse> {
    const { basePath, headers, client } = await scope.unlessAborted(this.#credentials.get())
    const search = new URLSearchParams(
      Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined),
    )
    return await client.send({
      method,
      path: `${basePath}${path}${search.size > 0 ? `?${search}` : ''}`,
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': 'pilothouse',
        ...(body === undefined ? {} : { 'content-type': contentType ?? 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: scope.signal,
      beforeSend: () => {
        if (leaseValid?.() === false) throw new LeaseOverError(`The lease was over before the call to ${what}`)
      },
    })
  }

  #sorted(error: unknown, request: ApiRequest, scope: AbortScope): unknown {
    if (scope.late) {
      if (!request.fromNode) {
        this.#awayAt = performance.now()
        this.#options.onTimeout()
      }
      return new Unreachable(`The API server did not answer in time (to ${request.action})`)
    }
    if (scope.signal.aborted) return scope.signal.reason
    if (error instanceof ApiRefused || error instanceof Unreachable || error instanceof LeaseOverError) return error
    const lost = unreachable(error, request.action)
    if (lost.retryAfterMs === null && !request.fromNode) this.#awayAt = performance.now()
    return lost
  }
}

/** Not by the error of JSON.parse: that quotes the text, which may have a Secret in it. */
function parsed<T>(body: string): T {
  try {
    return JSON.parse(body) as T
  } catch {
    throw new Error('the answer is not JSON')
  }
}

function closed(): ClusterClosedError {
  return new ClusterClosedError('The connection to the cluster was closed')
}
