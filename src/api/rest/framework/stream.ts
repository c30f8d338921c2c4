/**
 * An operation whose answer may be followed: asked with `Accept: text/event-stream` it sends what there is, and then what
 * comes, as server-sent events (docs/api-rules.md#events-and-streams). Until a stream has begun it is a call like any other, and
 * what is wrong is answered as JSON; afterwards it is an event, `error`. It is over with the event `complete`; one that ends
 * without either was cut off.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ValidationError } from '../../../domain/errors/errors.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { VARY } from '../../auth/cache-headers.ts'
import type { Rendering } from '../../realtime/frames.ts'
import type { Relay } from '../../realtime/relay.ts'
import type { Stream } from '../../realtime/stream.ts'
import type { Heartbeat } from '../../sse/heartbeat.ts'
import { sendSse } from '../../sse/send.ts'
import { type SseFormat, sseEvent } from '../../sse/sse-format.ts'
import { encode } from '../responses/response-schema.ts'
import { EVENT_STREAM, prefersStream } from './accept.ts'
import { type ConditionalOperation, conditionsOf } from './conditional-requests.ts'
import { errorText, shownError } from './errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: an operation keeps its values to itself
export interface StreamDefinition<Value = any> {
  /** streams of equal names send equal text for equal values */
  name: string
  /** for the document: what is sent, and when it is over */
  description: string
  /** of the JSON of each event; it must not depend on who asks */
  schema: z.ZodType
  /** what an event is called */
  eventName(value: Value): string
  /** Whether the query asks for it, where the header alone does not. */
  isRequested?(query: object): boolean
  /** the query parameter that the header Last-Event-ID stands for, which wins; default: `after` */
  cursorParameter?: string
  /** query parameters that say where a stream begins that is none of `place`: who comes back goes on instead */
  startParameters?: readonly string[]
  /** Throws what a verb throws. */
  open(ctx: RequestContext, raw: RawInput, relay: Relay): Promise<Stream<Value>>
}

/** What a server has for its streams. */
export interface StreamServices {
  relay: Relay
  heartbeat: Heartbeat
}

/** Which form the answer has depends on one more header. */
export const STREAM_VARY = `${VARY}, Accept`

/** Whether this call is to be answered by a stream. */
export function requestsStream(
  streamed: StreamDefinition | undefined,
  request: FastifyRequest,
): streamed is StreamDefinition {
  if (streamed === undefined || request.method !== 'GET' || !prefersStream(request.headers.accept)) return false
  return streamed.isRequested?.(request.query as object) ?? true
}

/** Begins it, and takes the response over. */
export async function sendStream(
  streamed: StreamDefinition,
  operation: ConditionalOperation,
  request: FastifyRequest,
  reply: FastifyReply,
  { relay, heartbeat }: StreamServices,
): Promise<void> {
  const ctx = request.caller!
  const stream = await openStream(streamed, ctx, operation, request, relay)
  reply.hijack()
  // a stream lives long, and keeps nothing of its request
  request.requestScope?.end()
  request.caller = null
  reply.raw.setHeader('vary', STREAM_VARY)
  sendSse(stream, reply.raw, {
    rendering: renderingOf(streamed),
    form: formOf(streamed, ctx),
    heartbeat,
    caller: ctx,
    credentials: ctx.credentials,
  })
}

/** A client that comes back by itself (EventSource) says in the header how far it came, and its address stays as it was. */
async function openStream(
  streamed: StreamDefinition,
  ctx: RequestContext,
  operation: ConditionalOperation,
  { headers, params, query }: FastifyRequest,
  relay: Relay,
): Promise<Stream> {
  const last = (headers['last-event-id'] as string | undefined) || undefined
  // a stream is no representation that could be tagged
  const { raw } = conditionsOf({ ...operation, headers: { 'cache-control': 'no-store' } }, headers)
  const asked = last === undefined ? query : resumeQuery(streamed, query as object, last)
  try {
    return await streamed.open(ctx, { path: params, query: asked, ...raw }, relay)
  } catch (error) {
    throw last !== undefined && error instanceof ValidationError ? locateInHeader(streamed, error) : error
  }
}

function resumeQuery(
  { cursorParameter = 'after', startParameters = [] }: StreamDefinition,
  query: object,
  last: string,
): object {
  const rest = Object.entries(query).filter(([name]) => !startParameters.includes(name))
  return { ...Object.fromEntries(rest), [cursorParameter]: last }
}

function locateInHeader(
  { cursorParameter = 'after' }: StreamDefinition,
  { violations }: ValidationError,
): ValidationError {
  return new ValidationError(
    violations.map(({ loc, ...rest }) => ({
      ...rest,
      loc: loc.join('.') === `query.${cursorParameter}` ? ['header', 'Last-Event-ID'] : loc,
    })),
  )
}

const renderings = new WeakMap<StreamDefinition, Rendering<unknown>>()

function renderingOf(streamed: StreamDefinition): Rendering<unknown> {
  const known = renderings.get(streamed)
  if (known) return known
  const { name, schema } = streamed
  // made once for all who ask, so there is nobody whom it could depend on
  const text = (value: unknown) => JSON.stringify(encode(schema, value as never, NO_CALLER))
  const rendering = { key: `rest ${name}`, render: async (values: readonly unknown[]) => values.map(text) }
  renderings.set(streamed, rendering)
  return rendering
}

const NO_CALLER = Object.freeze({}) as RequestContext

function formOf({ name, eventName }: StreamDefinition, { log, requestId }: RequestContext): SseFormat {
  return {
    name: `rest ${name}`,
    frame: ({ cursor, value, text }) => sseEvent({ id: cursor, event: eventName(value), data: text }),
    complete: 'event: complete\ndata: {}\n\n',
    error(error, cursor) {
      const body = JSON.parse(errorText(shownError(error, log, { requestId }), requestId))
      return sseEvent({
        ...(cursor && { id: cursor }),
        event: 'error',
        data: JSON.stringify({ ...body, cursor: cursor ?? null }),
      })
    },
  }
}

/** The part of an operation that the document says this of. */
type Documented = { description?: string; stream?: StreamDefinition }

/** In the document: the content of the answer of success, beside the page. */
export const streamContent = ({ stream }: Documented) => stream && { [EVENT_STREAM]: { schema: stream.schema } }

/** In the document: what the operation does, and what its stream is. */
export function streamDescription({ description, stream }: Documented): { description?: string } {
  const streamParagraph = stream && `With \`Accept: ${EVENT_STREAM}\`: ${stream.description} ${streamProtocol(stream)}`
  const paragraphs = [description, streamParagraph].filter((one) => one !== undefined)
  return paragraphs.length > 0 ? { description: paragraphs.join('\n\n') } : {}
}

const streamProtocol = ({ cursorParameter = 'after' }: StreamDefinition) =>
  `Each server-sent event has its cursor as \`id\`; \`${cursorParameter}\`, or the header \`Last-Event-ID\`, goes on behind one. What ends it early is an event \`error\` with \`detail\`, \`code\` and the \`cursor\` to go on from; a clean end is an event \`complete\`. Comments come at the latest every 15 seconds, unless the server is overloaded.`

/** In the document: the header that a client sends when it comes back. */
export const streamHeaders = ({ stream }: Documented) => (stream ? LAST_EVENT_ID : null)

const LAST_EVENT_ID = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .describe(
      'Of a stream: the `id` of the last event that was received. It wins over where the query says that it begins.',
    ),
})
