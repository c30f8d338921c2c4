/**
 * One operation on a WebSocket. It passes through Yoga like an HTTP request, so all limits apply; a subscription's stream
 * then writes to the socket. For graphql-ws it is an iterator that yields nothing and only ends.
 */
import { randomUUID } from 'node:crypto'
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql'
import type { SubscribePayload } from 'graphql-ws'
import type { Core } from '../../../domain/transaction/context.ts'
import { AbortScope } from '../../../platform/async/time-limit.ts'
import { RequestTrace, type Tracing } from '../../../platform/tracing/tracing.ts'
import type { RequestScope } from '../../limits/request-scope.ts'
import type { Rendering } from '../../realtime/frames.ts'
import type { Stream } from '../../realtime/stream.ts'
import { errorBody } from '../builder/errors.ts'
import type { CredentialHeaders, Peer } from './peer.ts'

/** Context of the request to Yoga. */
interface OperationContext {
  requestId: string
  requestScope: RequestScope
  /** receives the stream of a subscription */
  onStream(stream: Stream, rendering: Rendering): void
}

/** The part of Yoga that executes operations. */
export interface GraphQLExecutor {
  fetch(url: string, request: RequestInit, context: OperationContext): Response | Promise<Response>
}

export interface OperationOptions {
  id: string
  payload: SubscribePayload
  credentials: CredentialHeaders
  /** the client's address key for the limits */
  address: string
  peer: Peer
  yoga: GraphQLExecutor
  core: Pick<Core, 'log' | 'tracing'>
  /** called once at the end, never before `startOperation` returns */
  onEnd: () => void
}

export interface Operation extends AsyncIterableIterator<never> {
  /** Ends the operation with this error, streaming or not. */
  fail(error: unknown): void
  /** The client unsubscribed or disconnected. */
  return(): Promise<IteratorResult<never>>
}

/** Carries the client's errors out of the iterator. */
export class OperationError extends Error {
  readonly errors: readonly GraphQLFormattedError[]
  constructor(errors: readonly GraphQLFormattedError[]) {
    super('The operation has failed.')
    this.errors = errors
  }
}

const REQUEST_URL = 'http://websocket/graphql'
const ACCEPT = 'application/graphql-response+json, text/event-stream'
const DONE = { done: true, value: undefined } as const

export function startOperation({ id, payload, peer, yoga, ...options }: OperationOptions): Operation {
  const { log, tracing } = options.core
  const messageStart = `{"id":${JSON.stringify(id)},"type":"next","payload":`
  const requestId = randomUUID()
  const scope = new AbortScope(undefined)
  let isGone = false
  /** ends the stream with an error */
  let endStream: ((error: unknown) => void) | null = null

  async function run(): Promise<void> {
    const { query, variables, operationName, extensions } = payload
    const body = JSON.stringify({ query, variables, operationName, extensions })
    const requestScope = createMessageScope({ address: options.address, bytes: body.length, gone: scope.signal })
    if (tracing) requestScope.trace = traceOf(tracing, extensions?.traceparent, requestId, requestScope)
    try {
      let stream = null as Promise<void> | null
      const headers = { ...options.credentials, 'content-type': 'application/json', accept: ACCEPT }
      const request = { method: 'POST', headers, body, signal: scope.signal }
      const context: OperationContext = {
        requestId,
        requestScope,
        onStream(opened, rendering) {
          requestScope.end()
          if (scope.signal.aborted) opened.close()
          else stream = sendStream(opened, rendering)
        },
      }
      const response = await scope.unlessAborted((async () => yoga.fetch(REQUEST_URL, request, context))())
      if (stream) await stream
      else sendAnswer(await response.text())
    } catch (error) {
      if (isGone) return
      throw error instanceof OperationError ? error : new OperationError([errorBody(error, log, requestId)])
    } finally {
      requestScope.end()
      options.onEnd()
    }
  }

  /** Sends a result unchanged. If the request failed as a whole, the operation ends with the errors. */
  function sendAnswer(text: string): void {
    // most answers have no errors and need no parsing
    const { errors, data } = text.startsWith('{"data"') ? NO_ERRORS : (JSON.parse(text) as FormattedExecutionResult)
    if (errors && data === undefined) throw new OperationError(errors)
    peer.send([`${messageStart}${text}}`])
  }

  /** Resolves when the stream has ended. */
  function sendStream(stream: Stream, rendering: Rendering): Promise<void> {
    return new Promise((resolve, reject) => {
      endStream = stream.open(rendering, {
        send: ({ frames }) => peer.send(frames.map(({ text }) => `${messageStart}${text}}`)),
        get full() {
          return peer.full
        },
        drained: () => peer.drained(),
        end: (how) => ('error' in how ? reject(how.error) : resolve()),
        onGone(leave) {
          scope.signal.addEventListener('abort', () => {
            leave()
            resolve()
          })
        },
      })
    })
  }

  const completion = run()
  // `next` may not have been called yet
  completion.catch(() => {})
  return {
    async next() {
      await completion
      return DONE
    },
    async return() {
      isGone = true
      scope.abort(null)
      return DONE
    },
    fail(error) {
      endStream?.(error)
      scope.abort(error)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** The span ends with the operation, or when a subscription's stream begins. */
function traceOf(tracing: Tracing, traceparent: unknown, requestId: string, requestScope: RequestScope): RequestTrace {
  return new RequestTrace(traceparent, (parent) => {
    const attributes = { 'pilothouse.request.id': requestId }
    const span = tracing.start('WebSocket /graphql', parent, { kind: 'server', attributes })
    requestScope.onEnd(() => span.end())
    return span
  })
}

const NO_ERRORS: FormattedExecutionResult = {}

/** A message of this size costs about as much as another call. */
const BYTES_PER_CALL = 16 * 1024

interface MessageScopeOptions {
  /** the client's address key */
  address: string
  bytes: number
  /** aborts when the client no longer waits for the answer */
  gone: AbortSignal
  markAuthenticated?: () => void
}

/** The request scope of a message: it counts like a request, but there are no headers to report limits in. */
export function createMessageScope({
  address,
  bytes,
  gone,
  markAuthenticated = () => {},
}: MessageScopeOptions): RequestScope {
  let ended: (() => void)[] | null = []
  return {
    address,
    weight: 1 + Math.floor(bytes / BYTES_PER_CALL),
    keepsLease: false,
    gone,
    reportLimit() {},
    onEnd(done) {
      if (ended) ended.push(done)
      else done()
    },
    end() {
      const waiting = ended ?? []
      ended = null
      for (const done of waiting) done()
    },
    markAuthenticated,
  }
}
