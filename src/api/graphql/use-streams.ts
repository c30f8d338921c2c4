/**
 * Yoga plugin: subscriptions over SSE. Until the stream starts, it is an ordinary request with all its checks. Then the
 * response is taken over and the request is released, because streams live long and there are thousands.
 */
import type { ServerResponse } from 'node:http'
import { createSourceEventStream, type ExecutionArgs, type ExecutionResult, type GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Caller } from '../../domain/transaction/access.ts'
import type { Core } from '../../domain/transaction/context.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Admission } from '../limits/admission.ts'
import type { RequestScope } from '../limits/request-scope.ts'
import type { Rendering } from '../realtime/frames.ts'
import type { Relay } from '../realtime/relay.ts'
import { Stream } from '../realtime/stream.ts'
import type { Heartbeat } from '../responses/heartbeat.ts'
import { type SseFormat, sendSse, sseEvent } from '../responses/outlet.ts'
import type { GraphQLContext } from './builder/context.ts'
import { graphqlRendering, resultText } from './subscription-rendering.ts'

const EVENT_STREAM = 'text/event-stream'

/** Carries the stream through Yoga to the response. Yoga would wrap an AsyncIterable. */
class StreamResult {
  readonly stream: Stream
  readonly rendering: Rendering
  readonly caller: Caller
  constructor(stream: Stream, rendering: Rendering, { actor, workspace, credential }: Caller) {
    this.stream = stream
    this.rendering = rendering
    this.caller = { actor, workspace, credential }
  }
}

/** Data from the server that received the request. */
export interface StreamContext {
  res?: ServerResponse
  /** the request as the limits see it; without it nothing is counted */
  requestScope?: RequestScope
  /** removes Yoga's listeners from the request and its response */
  removeYogaListeners?: () => void
  /** receives the stream if the transport sends it itself; without it the stream is sent as SSE */
  onStream?: (stream: Stream, rendering: Rendering) => void
}

export interface StreamsOptions {
  core: Core
  relay: Relay
  heartbeat: Heartbeat
  admission: Admission
}

export function useStreams({
  core,
  relay,
  heartbeat,
  admission,
}: StreamsOptions): Plugin<GraphQLContext, StreamContext> {
  const form = graphqlForm(core.log)

  function takeOver(
    { stream, rendering, caller }: StreamResult,
    response: ServerResponse,
    http: StreamContext,
  ): Promise<never> {
    http.requestScope?.end()
    http.removeYogaListeners?.()
    sendSse(stream, response, { rendering, form, heartbeat, caller, credentials: core.credentials })
    // Yoga must not answer. It would retain the request until this promise settles, but the promise itself is not referenced
    // by anything.
    return new Promise<never>(() => undefined)
  }

  /** Returns the stream, or errors if it can't start. */
  async function begin(args: ExecutionArgs): Promise<ExecutionResult | StreamResult> {
    const { schema, document, operationName, variableValues, contextValue } = args
    const ctx = contextValue as GraphQLContext & StreamContext & { params?: { query?: string } }
    const variables = variableValues ?? {}
    try {
      // HTTP only: on a WebSocket the request scope does not end when the stream starts
      if (ctx.requestScope && !ctx.onStream) await admission.admitStream(ctx.requestScope)
    } catch (error) {
      return { errors: [error as GraphQLError] }
    }
    const stream = await createSourceEventStream({ ...args, variableValues: variables })
    if (!(stream instanceof Stream)) return stream as ExecutionResult
    const text = ctx.params?.query ?? ''
    const rendering = graphqlRendering({ schema, document, text, operationName, variables, core, relay, caller: ctx })
    return new StreamResult(stream, rendering, ctx)
  }

  return {
    onSubscribe({ setSubscribeFn }) {
      setSubscribeFn(begin)
    },
    onResultProcess({ request, result, setResultProcessor, serverContext }) {
      if (!(result instanceof StreamResult)) return
      if (serverContext.onStream) {
        serverContext.onStream(result.stream, result.rendering)
        setResultProcessor((_result, { Response }) => new Response(null), EVENT_STREAM)
        return
      }
      const response = serverContext.res
      if (response && takesEvents(request)) {
        setResultProcessor(() => takeOver(result, response, serverContext) as never, EVENT_STREAM)
      } else {
        result.stream.close()
        // without a result processor, Yoga answers 406
        setResultProcessor(undefined as never, '')
      }
    },
  }
}

function takesEvents(request: Request): boolean {
  const ranges = (request.headers.get('accept') ?? '*/*').toLowerCase().split(',')
  return ranges.some((range) => [EVENT_STREAM, 'text/*', '*/*'].includes(range.split(';')[0]!.trim()))
}

const COMPLETE = 'event: complete\ndata:\n\n'

function graphqlForm(log: Log): SseFormat {
  return {
    name: 'graphql',
    frame: ({ cursor, text }) => sseEvent({ id: cursor, event: 'next', data: text }),
    complete: COMPLETE,
    error(error, cursor) {
      const data = resultText({ errors: [error as never] }, log, '')
      return sseEvent({ ...(cursor && { id: cursor }), event: 'next', data }) + COMPLETE
    },
  }
}
