/**
 * Answers an operation as a stream of server-sent events (docs/api-rules.md#events-and-streams) if the client sends
 * `Accept: text/event-stream`. See README.md.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { ValidationError } from '../../../domain/errors/errors.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import type { ReadContext, RequestContext } from '../../../domain/transaction/context.ts'
import { VARY } from '../../auth/authenticate.ts'
import type { Rendering } from '../../realtime/frames.ts'
import type { Relay } from '../../realtime/relay.ts'
import type { Stream } from '../../realtime/stream.ts'
import type { Heartbeat } from '../../responses/heartbeat.ts'
import { type SseFormat, sendSse, sseEvent } from '../../responses/outlet.ts'
import { encode } from '../responses/response-schema.ts'
import { type ConditionalOperation, conditionsOf } from './conditional-requests.ts'
import { errorText, shownError } from './errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: only the operation knows the type of its values
export interface StreamDefinition<Value = any> {
  /** Streams with the same name send the same text for the same value. */
  name: string
  /** for the document: content and end of the stream */
  description: string
  /** schema of an event's JSON; the encoding must not depend on the caller */
  schema: z.ZodType
  eventName(value: Value): string
  /** Whether the query requests the stream; absent: the Accept header decides alone. */
  isRequested?(query: object): boolean
  /** query parameter that the header Last-Event-ID overrides; default: `after` */
  cursorParameter?: string
  /** other query parameters for the start; ignored when Last-Event-ID is sent */
  startParameters?: readonly string[]
  /** Throws the same errors as a verb. */
  open(ctx: RequestContext, raw: RawInput, relay: Relay): Promise<Stream<Value>>
}

/** Shared by all streams of a server. */
export interface StreamServices {
  relay: Relay
  heartbeat: Heartbeat
}

/** The form of the answer depends on the Accept header too. */
export const STREAM_VARY = `${VARY}, Accept`

export function requestsStream(
  streamed: StreamDefinition | undefined,
  request: FastifyRequest,
): streamed is StreamDefinition {
  if (streamed === undefined || request.method !== 'GET' || !prefersStream(request.headers.accept)) return false
  return streamed.isRequested?.(request.query as object) ?? true
}

/** Opens the stream and takes the response over from Fastify. */
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
  // A stream lives long, so it releases its request.
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

/** A reconnecting client (EventSource) sends its position in Last-Event-ID and keeps its original URL. */
async function openStream(
  streamed: StreamDefinition,
  ctx: RequestContext,
  operation: ConditionalOperation,
  { headers, params, query }: FastifyRequest,
  relay: Relay,
): Promise<Stream> {
  const last = (headers['last-event-id'] as string | undefined) || undefined
  // `no-store` because a stream has no entity tag
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

const renderings = new WeakMap<StreamDefinition, Rendering>()

function renderingOf(streamed: StreamDefinition): Rendering {
  const known = renderings.get(streamed)
  if (known) return known
  const { name, schema } = streamed
  // encoded once for all subscribers, so it has no caller
  const text = (value: unknown) => JSON.stringify(encode(schema, value as never, NO_CALLER))
  const rendering = { key: `rest ${name}`, render: async (values: readonly unknown[]) => values.map(text) }
  renderings.set(streamed, rendering)
  return rendering
}

const NO_CALLER = Object.freeze({}) as RequestContext

function formOf({ name, eventName }: StreamDefinition, { log, requestId }: ReadContext): SseFormat {
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

type Documented = { description?: string; stream?: StreamDefinition }

/** For the OpenAPI document: the additional content type of a successful answer. */
export const streamContent = ({ stream }: Documented) => stream && { [EVENT_STREAM]: { schema: stream.schema } }

/** For the OpenAPI document: the description with a paragraph about the stream. */
export function streamDescription({ description, stream }: Documented): { description?: string } {
  const streamParagraph = stream && `With \`Accept: ${EVENT_STREAM}\`: ${stream.description} ${streamProtocol(stream)}`
  const paragraphs = [description, streamParagraph].filter((one) => one !== undefined)
  return paragraphs.length > 0 ? { description: paragraphs.join('\n\n') } : {}
}

const streamProtocol = ({ cursorParameter = 'after' }: StreamDefinition) =>
  `The \`id\` of each server-sent event is its cursor. Pass it as \`${cursorParameter}\`, or in the header \`Last-Event-ID\`, to continue after that event. A failed stream ends with an event \`error\` that has \`detail\`, \`code\` and the \`cursor\` to continue from. A finished stream ends with an event \`complete\`. A comment is sent at least every 15 seconds, unless the server is overloaded.`

/** For the OpenAPI document: the header of a reconnecting client. */
export const streamHeaders = ({ stream }: Documented) => (stream ? LAST_EVENT_ID : null)

const LAST_EVENT_ID = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .describe('For a stream: the `id` of the last received event. It overrides the start position in the query.'),
})

/** Chooses between JSON and an event stream by the Accept header (RFC 9110, 12.5.1). Pure. */
const EVENT_STREAM = 'text/event-stream'
const JSON_TYPE = 'application/json'

/** Without a header, with equal quality, and with neither type accepted, the answer is JSON. */
export function prefersStream(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const ranges = accept.toLowerCase().split(',').map(rangeOf)
  return qualityOf(ranges, EVENT_STREAM) > qualityOf(ranges, JSON_TYPE)
}

interface Range {
  type: string
  quality: number
}

function rangeOf(text: string): Range {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim())
  const quality = parameters.map((parameter) => /^q=([\d.]{1,5})$/.exec(parameter)?.[1]).find((q) => q !== undefined)
  return { type, quality: quality === undefined ? 1 : Math.min(Number(quality) || 0, 1) }
}

/** The quality of the most specific range that includes `type`; 0 if none does. */
function qualityOf(ranges: readonly Range[], type: string): number {
  for (const candidate of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const found = ranges.find((range) => range.type === candidate)
    if (found) return found.quality
  }
  return 0
}
