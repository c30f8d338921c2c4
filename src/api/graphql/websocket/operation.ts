/**
 * One operation on a WebSocket. It goes through Yoga as a request of HTTP would, so that it is authenticated, counted,
 * limited and presented alike; a subscription's stream then writes to the socket itself. To the protocol (graphql-ws) each
 * operation is an iterator that has nothing to give but its end.
 */
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import type { Visit } from '../../limits/request-scope.ts'
import type { Batch, Ending, Outlet, Rendering } from '../../realtime/frames.ts'
import type { Stream } from '../../realtime/stream.ts'
import type { CredentialHeaders } from './credentials.ts'
import type { Peer } from './peer.ts'
import { visitOf } from './message-scope.ts'

/** What goes with the request of an operation. */
interface OperationContext {
  requestId: string
  visit: Visit
  /** takes the stream of a subscription */
  onStream(stream: Stream, rendering: Rendering<unknown>): void
}

/** What an operation is carried out by. */
export interface Engine {
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
  engine: Engine
  /** called once, when it is over; not before the operation has been made */
  ended: () => void
}

export class Operation implements AsyncIterableIterator<never>, Outlet {
  readonly #options: OperationOptions
  readonly #head: string
  readonly #gone = new AbortController()
  readonly #over: Promise<void>
  #visit: Visit | null = null
  #resolve!: () => void
  #reject!: (error: Error) => void
  #ended = false
  #leave: (() => void) | null = null
  /** ends its stream with an error */
  #endStream: ((error: unknown) => void) | null = null

  constructor(options: OperationOptions) {
    this.#options = options
    this.#head = `{"id":${JSON.stringify(options.id)},"type":"next","payload":`
    this.#over = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    // nobody may have begun to wait for it
    this.#over.catch(() => {})
    void this.#run()
  }

  async next(): Promise<IteratorResult<never>> {
    await this.#over
    return { done: true, value: undefined }
  }

  /** The client wants no more of it, or is gone. */
  async return(): Promise<IteratorResult<never>> {
    this.#gone.abort()
    this.#leave?.()
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
    this.#gone.abort()
  }

  async #run(): Promise<void> {
    const { payload, credentials, address, requestId, engine } = this.#options
    const { query, variables, operationName, extensions } = payload
    const body = JSON.stringify({ query, variables, operationName, extensions })
    const visit = visitOf({ address, bytes: body.length, gone: this.#gone.signal })
    this.#visit = visit
    try {
      const headers = { ...credentials, 'content-type': 'application/json', accept: ACCEPT }
      const request = { headers, body, signal: this.#gone.signal }
      let streams = false
      const response = await engine.fetch(request, {
        requestId,
        visit,
        onStream: (stream, rendering) => {
          streams = true
          this.#open(stream, rendering)
        },
      })
      if (!streams) this.#answer(await response.text())
    } catch (error) {
      this.end({ error })
    }
  }

  #open(stream: Stream, rendering: Rendering<unknown>): void {
    this.#visit?.over()
    if (this.#ended) stream.close()
    else this.#endStream = stream.open(rendering, this)
  }

  /** A result is passed on as it is; of a request that failed as a whole the errors are. */
  #answer(text: string): void {
    if (this.#ended) return
    // most have none, and are not read again
    const { errors, data } = text.startsWith('{"data"') ? NO_ERRORS : (JSON.parse(text) as FormattedExecutionResult)
    if (errors && data === undefined) {
      this.#finish(new OperationError(errors))
      return
    }
    this.#options.peer.send([`${this.#head}${text}}`])
    this.#finish()
  }

  send(batch: Batch): void {
    this.#options.peer.send(batch.frames.map(({ text }) => `${this.#head}${text}}`))
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
    else this.#leave = leave
  }

  #finish(error?: OperationError): void {
    if (this.#ended) return
    this.#ended = true
    if (error) this.#reject(error)
    else this.#resolve()
    this.#visit?.over()
    this.#options.ended()
  }
}

const NO_ERRORS: FormattedExecutionResult = {}

const ACCEPT = 'application/graphql-response+json, text/event-stream'
