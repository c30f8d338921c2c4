/**
 * One operation on a WebSocket. It passes through Yoga like an HTTP request, so all limits apply; a subscription's stream
 * then writes to the socket. For graphql-ws it is an iterator that yields nothing and only ends.
 */
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import type { RequestScope } from '../../limits/request-scope.ts'
import type { Batch, Ending, Outlet, Rendering } from '../../realtime/frames.ts'
import type { Stream } from '../../realtime/stream.ts'
import type { CredentialHeaders } from './credentials.ts'
import { createMessageScope } from './message-scope.ts'
import type { Peer } from './peer.ts'

/** Context of the request to Yoga. */
interface OperationContext {
  requestId: string
  requestScope: RequestScope
  /** receives the stream of a subscription */
  onStream(stream: Stream, rendering: Rendering<unknown>): void
}

/** Executes operations. */
export interface GraphQLExecutor {
  /** Answers a GraphQL request. */
  fetch(
    request: { headers: Record<string, string>; body: string; signal: AbortSignal },
    context: OperationContext,
  ): Promise<Response>
  /** Presents an error that ends a stream. */
  present(error: unknown): GraphQLFormattedError
}

/** Carries the client's errors out of the iterator. */
export class OperationError extends Error {
  readonly errors: readonly GraphQLFormattedError[]
  constructor(errors: readonly GraphQLFormattedError[]) {
    super('The operation has failed.')
    this.errors = errors
  }
}

export interface OperationOptions {
  id: string
  payload: SubscribePayload
  credentials: CredentialHeaders
  /** the client's address key for the limits */
  address: string
  requestId: string
  peer: Peer
  engine: GraphQLExecutor
  /** called once at the end; never inside the constructor */
  ended: () => void
}

export class Operation implements AsyncIterableIterator<never>, Outlet {
  readonly #options: OperationOptions
  readonly #messageStart: string
  readonly #abort = new AbortController()
  readonly #completion: Promise<void>
  #requestScope: RequestScope | null = null
  #resolve!: () => void
  #reject!: (error: Error) => void
  #ended = false
  #onClientGone: (() => void) | null = null
  /** ends the stream with an error */
  #endStream: ((error: unknown) => void) | null = null

  constructor(options: OperationOptions) {
    this.#options = options
    this.#messageStart = `{"id":${JSON.stringify(options.id)},"type":"next","payload":`
    this.#completion = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // `next` may not have been called yet
    this.#completion.catch(() => {})
    void this.#run()
  }

  async next(): Promise<IteratorResult<never>> {
    await this.#completion
    return { done: true, value: undefined }
  }

  /** The client unsubscribed or disconnected. */
  async return(): Promise<IteratorResult<never>> {
    this.#abort.abort()
    this.#onClientGone?.()
    this.#finish()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Ends the operation with this error, streaming or not. */
  fail(error: unknown): void {
    if (this.#endStream) this.#endStream(error)
    else this.end({ error })
    this.#abort.abort()
  }

  async #run(): Promise<void> {
    const { payload, credentials, address, requestId, engine } = this.#options
    const { query, variables, operationName, extensions } = payload
    const body = JSON.stringify({ query, variables, operationName, extensions })
    const requestScope = createMessageScope({ address, bytes: body.length, gone: this.#abort.signal })
    this.#requestScope = requestScope
    try {
      const headers = { ...credentials, 'content-type': 'application/json', accept: ACCEPT }
      const request = { headers, body, signal: this.#abort.signal }
      let streams = false
      const response = await engine.fetch(request, {
        requestId,
        requestScope: requestScope,
        onStream: (stream, rendering) => {
          streams = true
          this.#open(stream, rendering)
        },
      })
      if (!streams) this.#sendAnswer(await response.text())
    } catch (error) {
      this.end({ error })
    }
  }

  #open(stream: Stream, rendering: Rendering<unknown>): void {
    this.#requestScope?.end()
    if (this.#ended) stream.close()
    else this.#endStream = stream.open(rendering, this)
  }

  /** Sends a result unchanged. If the request failed as a whole, it ends with the errors. */
  #sendAnswer(text: string): void {
    if (this.#ended) return
    // most answers have no errors and need no parsing
    const { errors, data } = text.startsWith('{"data"') ? NO_ERRORS : (JSON.parse(text) as FormattedExecutionResult)
    if (errors && data === undefined) {
      this.#finish(new OperationError(errors))
      return
    }
    this.#options.peer.send([`${this.#messageStart}${text}}`])
    this.#finish()
  }

  send(batch: Batch): void {
    this.#options.peer.send(batch.frames.map(({ text }) => `${this.#messageStart}${text}}`))
  }

  get full(): boolean {
    return !this.#ended && this.#options.peer.full
  }

  drained(): Promise<void> {
    return this.#options.peer.drained()
  }

  end(how: Ending): void {
    if ('error' in how) this.#finish(new OperationError([this.#options.engine.present(how.error)]))
    else this.#finish()
  }

  onGone(leave: () => void): void {
    if (this.#ended) leave()
    else this.#onClientGone = leave
  }

  #finish(error?: OperationError): void {
    if (this.#ended) return
    this.#ended = true
    if (error) this.#reject(error)
    else this.#resolve()
    this.#requestScope?.end()
    this.#options.ended()
  }
}

const NO_ERRORS: FormattedExecutionResult = {}

const ACCEPT = 'application/graphql-response+json, text/event-stream'
