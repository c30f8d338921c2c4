/**
 * Calls to one server over connections that are kept. By undici's `dispatch` and not `fetch`: it follows no redirect
 * (which would carry keys elsewhere), bounds the connections, and tells when a request is about to go out.
 */
import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici'

export interface HttpClientOptions {
  /** of the server: scheme, host and port */
  origin: string
  /** at a time; more requests than that queue up. Default: as many as there are requests */
  connections?: number
  /** ms in which a connection has to be made */
  connectMs: number
  /** ms of silence after which a connection is probed (TCP keep-alive) */
  probeMs?: number
  /** certificates: `ca`, `cert`, `key`, `servername` … as node:tls has them */
  tls?: Omit<buildConnector.BuildOptions, 'timeout' | 'keepAliveInitialDelay'>
  /** URL of the proxy to go through: http, https or socks5 */
  proxy?: string
}

export interface HttpRequest {
  method: Dispatcher.HttpMethod
  /** with the query */
  path: string
  headers: Record<string, string | string[] | undefined>
  body?: string
  /** Ends the request, or its answer; what has not gone out by then never does. */
  signal: AbortSignal
  /** Called in the tick in which the request goes out, on a connection that is up. When it throws, nothing is sent. */
  beforeSend?: () => void
}

export interface HttpResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  /** Ends with an error when the connection breaks, or the signal aborts, before it is complete. */
  body: Readable
}

/** The connection could not be made, or broke. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
  /** of the system, or of undici */
  readonly code: string
  /** it was a kept connection that the server had closed meanwhile: nothing is wrong, a new one will do */
  readonly stale: boolean

  constructor(message: string, code: string, stale: boolean, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.stale = stale
  }
}

/** ms for which an idle connection is kept, unless the server says otherwise */
const IDLE_MS = 60_000
/** how a connection ends that the other side has closed; undici's own code for it is not for people */
const CLOSED = ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']

export class HttpClient {
  readonly #options: HttpClientOptions
  #dispatcher: Dispatcher
  /** inside undici's event of a new connection: a request that goes out now is its first */
  #connected = false

  constructor(options: HttpClientOptions) {
    this.#options = options
    this.#dispatcher = this.#open()
  }

  /**
   * Resolves when the head of the answer is there, whatever its status. Rejects with ConnectionError, with the signal's
   * reason, and with what `beforeSend` throws. A request is never sent twice.
   */
  async send({ signal, beforeSend, ...request }: HttpRequest): Promise<HttpResponse> {
    // a connection whose answer has just ended is known to be free only then
    await nextTurn()
    signal.throwIfAborted()
    return await new Promise((resolve, reject) => {
      let sent: Dispatcher.DispatchController | null = null
      let body: Readable | null = null
      let reused = false
      const abort = () => {
        // one that still waits for its connection is not sent when that is there: see onRequestStart
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
          // whoever reads it gets the error, also later
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

  /** Opens new connections from now on: those that are kept may be dead without anybody having noticed. */
  renew(): void {
    this.close()
    this.#dispatcher = this.#open()
  }

  /** Takes no more requests and ends idle connections; what is under way may end. */
  close(): void {
    this.#dispatcher.close().catch(() => undefined)
  }

  /** Ends all connections. */
  destroy(): void {
    this.#dispatcher.destroy().catch(() => undefined)
  }

  #open(): Dispatcher {
    const { origin, connections = null, connectMs, probeMs, tls, proxy } = this.#options
    // whoever sends sets the limits of time: undici's own are counted in half seconds
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

  /** undici sends the request that a connection was made for before its call to `done` returns. */
  #noticing(connect: buildConnector.connector): buildConnector.connector {
    return (options, done) =>
      connect(options, (...[error, socket]: buildConnector.CallbackArgs) => {
        this.#connected = true
        // undici would try at once again, for ever, when a proxy closes its connection
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

/** The whole body as text. Rejects when it is larger than so many bytes. */
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
