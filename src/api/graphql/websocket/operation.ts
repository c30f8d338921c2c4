/**
 * One operation on a WebSocket. It goes through Yoga as a request of HTTP would, so that it is authenticated, counted,
 * limited and presented alike; a subscription's stream then writes to the socket itself. To the protocol (graphql-ws) each
 * operation is an iterator that has nothing to give but its end.
 */
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import type { RequestScope } from '../../limits/request-scope.ts'
import type { Batch, Ending, Outlet, Rendering } from '../../realtime/frames.ts'
import type { Stream } from '../../realtime/stream.ts'
import type { CredentialHeaders } from './credentials.ts'
import { createMessageScope } from './message-scope.ts'
import type { Peer } from './peer.ts'

/** What goes with the request of an operation. */
interface OperationContext {
  requestId: string
  requestScope: RequestScope
  /** takes the stream of a subscription */
  onStream(stream: Stream, rendering: Rendering<unknown>): void
}

/** What an operation is carried out by. */
export interface GraphQLExecutor {
  /** Answers a request of GraphQL over HTTP. */
  fetch(
    request: { headers: Record<string, string>; body: string; signal: AbortSignal },
    context: OperationContext,
  ): Promise<Response>
  /** What an error that ends a stream is shown as. */
  present(error: unknown): GraphQLFormattedError
}

/** Carries what the client is told out of the iterator. */
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
  /** of the client, for the limits */
  address: string
  requestId: string
  peer: Peer
  engine: GraphQLExecutor
  /** called once, when it is over; not before the operation has been made */
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
  /** ends its stream with an error */
  #endStream: ((error: unknown) => void) | null = null

  constructor(options: OperationOptions) {
    this.#options = options
    this.#messageStart = `{"id":${JSON.stringify(options.id)},"type":"next","payload":`
    this.#completion = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // nobody may have begun to wait for it
    this.#completion.catch(() => {})
    void this.#run()
  }

  async next(): Promise<IteratorResult<never>> {
    await this.#completion
    return { done: true, value: undefined }
  }

  /** The client wants no more of it, or is gone. */
  async return(): Promise<IteratorResult<never>> {
    this.#abort.abort()
    this.#onClientGone?.()
    this.#finish()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** It ends with this error: a stream, or one that has not been answered yet. */
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

  /** A result is passed on as it is; of a request that failed as a whole the errors are. */
  #sendAnswer(text: string): void {
    if (this.#ended) return
    // most have none, and are not read again
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
