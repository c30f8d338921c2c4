/**
 * HTTP calls to the API server: JSON, kept connections, limited concurrency and timeouts.
 * Of @kubernetes/client-node it uses only the kubeconfig (credentials.ts): its calls drop unknown members,
 * convert times to Dates, need API discovery, have no timeout, and open a connection per call.
 */
import type { Readable } from 'node:stream'
import { Semaphore } from '../../../platform/async/semaphore.ts'
import { AbortScope } from '../../../platform/async/time-limit.ts'
import { type HttpResponse, readText } from '../../../platform/http/client.ts'
import { clientSpan, inHttpSpan, type ParentSpan } from '../../../platform/tracing/tracing.ts'
import { Credentials } from './credentials.ts'
import { ApiRefused, ClusterClosedError, LeaseOverError, refusal, Unreachable, unreachable } from './errors.ts'

interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: Record<string, string | undefined>
  body?: unknown
  contentType?: string
  /** action for messages: `list pods in namespace "a"` */
  action: string
  /** request or response contains secret values that no message may show */
  secret?: boolean
  /** a timeout says nothing about the API server, because the pod's node sends the logs */
  fromNode?: boolean
  /** for a write: called when the connection is open, in the tick that sends the request */
  leaseValid?: () => boolean
  /** the traced work that calls; undefined: none */
  parent?: ParentSpan | undefined
  /** of the kind, for the name of the span */
  resource?: string
}

interface ApiOptions {
  /** default: from the environment */
  kubeconfig: string | undefined
  callsAtATime: number
  callMs: number
  silenceMs: number
  /** called after a call's timeout: open connections may be dead */
  onTimeout: () => void
}

/** ms after an outage in which a refusal may mean that the API server has not loaded accounts and roles */
const API_SERVER_WARMUP_MS = 30_000
/** bytes of one response: far above a list page or the largest object that etcd stores */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024

export class Api {
  readonly #options: ApiOptions
  readonly #credentials: Credentials
  /** performance.now() of the last unreachable call */
  #awayAt = Number.NEGATIVE_INFINITY
  readonly #limit: Semaphore
  readonly #scopes = new Set<AbortScope>()
  #closed = false

  /** Throws when the kubeconfig is unusable. */
  constructor(options: ApiOptions) {
    this.#options = options
    const { kubeconfig, callsAtATime, callMs, silenceMs } = options
    // the call's timeout is shorter, so its error is reported
    this.#credentials = new Credentials(kubeconfig, { connectMs: 2 * callMs, probeMs: silenceMs })
    this.#limit = new Semaphore(callsAtATime)
  }

  /** Null: this process may run outside of the cluster. */
  get podNamespace(): string | null {
    return this.#credentials.podNamespace
  }

  /** Makes one call without a retry and returns its JSON. Throws ApiRefused, Unreachable and LeaseOverError. */
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

  /** Returns the body of a long response. Rejects like `call`; later errors are errors of the stream. */
  async stream(request: ApiRequest, signal: AbortSignal): Promise<Readable> {
    const scope = this.#scope(signal)
    // the timeout covers only the response headers
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

  /** Returns a 2xx response with an unread body. */
  async #opened(request: ApiRequest, scope: AbortScope): Promise<HttpResponse> {
    for (let first = true; ; first = false) {
      const answer = await this.#send(request, scope)
      const { status, headers } = answer
      if (status >= 200 && status < 300) return answer
      const body = await readText(answer.body, MAX_RESPONSE_BYTES)
      if (status === 401) this.#credentials.expire()
      // the token may have been replaced since it was read
      if (status === 401 && first) continue
      const error = refusal(status, headers, body, request.action, request.secret ?? false)
      const waking = performance.now() - this.#awayAt < API_SERVER_WARMUP_MS
      throw waking && (status === 401 || status === 403) ? new Unreachable(error.message) : error
    }
  }

  async #send(
    { method, path, query = {}, body, contentType, action, leaseValid, parent, resource }: ApiRequest,
    scope: AbortScope,
  ): Promise<HttpResponse> {
    const { basePath, headers, client } = await scope.unlessAborted(this.#credentials.get())
    const search = new URLSearchParams(
      Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined),
    )
    const sent = client.send({
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
        if (leaseValid?.() === false) throw new LeaseOverError(`The lease expired before the call to ${action}`)
      },
    })
    const span = parent?.child(`${method} ${resource}`, clientSpan(client.host, { 'http.request.method': method }))
    return await inHttpSpan(span, sent)
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

/** Does not use the error of JSON.parse: it quotes the text, which may contain a Secret. */
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
