/**
 * HTTP client of one server, over kept connections. Uses undici's `dispatch`, not `fetch`: it follows no redirects (which
 * would carry keys elsewhere), limits connections, and reports when a request is about to be sent.
 */
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'

export interface HttpClientOptions {
  /** scheme, host and port of the server */
  origin: string
  /** maximum connections; further requests queue. Default: unlimited */
  connections?: number
  connectMs: number
  /** ms of silence before a TCP keep-alive probe */
  probeMs?: number
  /** TLS options as in node:tls: `ca`, `cert`, `key`, `servername` … */
  tls?: Omit<buildConnector.BuildOptions, 'timeout' | 'keepAliveInitialDelay'>
  /** proxy URL: http, https or socks5 */
  proxy?: string
}

export interface HttpRequest {
  method: Dispatcher.HttpMethod
  /** including the query */
  path: string
  headers: Record<string, string | string[] | undefined>
  body?: string
  /** Aborts the request or its response. An unsent request is dropped. */
  signal: AbortSignal
  /** Called just before the request is sent, on an open connection. When it throws, nothing is sent. */
  beforeSend?: () => void
}

export interface HttpResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Errors when the connection breaks or the signal aborts before the body is complete. */
  body: Readable
}

/** The connection could not be opened, or broke. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
  /** error code of the system or of undici */
  readonly code: string
  /** true for a kept connection that the server had closed: retry on a new connection */
  readonly stale: boolean

  constructor(message: string, code: string, stale: boolean, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.stale = stale
  }
}

/** how long an idle connection is kept, unless the server sends a shorter time */
const IDLE_MS = 60_000
/** codes for a connection closed by the other side; undici's own code means little to people */
const CLOSED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

export class HttpClient {
  readonly #options: HttpClientOptions
  #dispatcher: Dispatcher
  /** true inside undici's connect event: a request sent now is the connection's first */
  #connected = false

  constructor(options: HttpClientOptions) {
    this.#options = options
    this.#dispatcher = this.#open()
  }

  get host(): string {
    return new URL(this.#options.origin).host
  }

  /**
   * Resolves when the response head has arrived, with any status. Rejects with ConnectionError, the signal's reason, or the
   * error of `beforeSend`. Never sends a request twice.
   */
  async send({ signal, beforeSend, ...request }: HttpRequest): Promise<HttpResponse> {
    // undici marks a connection as free only one turn after its response ended
    await nextTurn()
    signal.throwIfAborted()
    return await new Promise((resolve, reject) => {
      let sent: Dispatcher.DispatchController | null = null
      let body: Readable | null = null
      let reused = false
      const abort = () => {
        // a request that still waits for a connection is dropped in onRequestStart
        reject(signal.reason)
        sent?.abort(signal.reason)
      }
      const over = () => signal.removeEventListener('abort', abort)
      signal.addEventListener('abort', abort)
      const failed = (thrown: Error & { code?: unknown }) => {
        over()
        const error = typeof thrown.code === 'string' ? broken(thrown, thrown.code, reused && !body) : thrown
        if (body) body.destroy(error)
        else reject(error)
      }
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: (controller) => {
          signal.throwIfAborted()
          beforeSend?.()
          sent = controller
          reused = !this.#connected
        },
        onResponseStart(controller, status, headers) {
          if (status < 200) return
          body = new Readable({
            read: () => controller.resume(),
            destroy(error, done) {
              over()
              controller.abort(error ?? new Error('The answer was not read to its end'))
              done(error)
            },
          })
          // a reader still gets the error later
          body.on('error', () => undefined)
          resolve({ status, headers, body })
        },
        onResponseData(controller, chunk) {
          if (!body?.push(chunk)) controller.pause()
        },
        onResponseEnd: () => void body?.push(null),
        onResponseError: (_, error) => failed(error),
      }
      this.#dispatcher.dispatch({ origin: this.#options.origin, ...request }, handler)
    })
  }

  /** Uses new connections from now on, because the kept ones may be dead without an error. */
  renew(): void {
    this.close()
    this.#dispatcher = this.#open()
  }

  /** Accepts no more requests and closes idle connections; running requests may finish. */
  close(): void {
    this.#dispatcher.close().catch(() => undefined)
  }

  destroy(): void {
    this.#dispatcher.destroy().catch(() => undefined)
  }

  #open(): Dispatcher {
    const { origin, connections = null, connectMs, probeMs, tls, proxy } = this.#options
    // callers set the timeouts: undici's own count in half seconds
    const options = { connections, keepAliveTimeout: IDLE_MS, headersTimeout: 0, bodyTimeout: 0 }
    const how = { ...tls, timeout: connectMs, ...(probeMs === undefined ? {} : { keepAliveInitialDelay: probeMs }) }
    if (proxy === undefined) return new Pool(origin, { ...options, connect: this.#noticing(buildConnector(how)) })
    return new ProxyAgent({
      ...options,
      uri: proxy,
      requestTls: how,
      factory: (to, { connect, ...rest }: Pool.Options) =>
        new Pool(to, { ...rest, connect: this.#noticing(connect as buildConnector.connector) }),
    })
  }

  /** undici sends the first request of a connection before its call to `done` returns. */
  #noticing(connect: buildConnector.connector): buildConnector.connector {
    return (options, done) =>
      connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
        this.#connected = true
        // without the code change undici would retry endlessly when a proxy closes its connection
        if (error) done(broken(error, (error as NodeJS.ErrnoException).code ?? 'unknown', false), null)
        else done(null, socket!)
        this.#connected = false
      })
  }
}

function broken(cause: Error, code: string, mayBeStale: boolean): ConnectionError {
  if (cause instanceof ConnectionError) return cause
  const closed = CLOSED.includes(code)
  return new ConnectionError(cause.message, closed ? 'ECONNRESET' : code, mayBeStale && closed, { cause })
}

/** Reads the whole body as text. Rejects when it is larger than `mostBytes`. */
export async function readText(body: Readable, mostBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new Error(`the answer is larger than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
