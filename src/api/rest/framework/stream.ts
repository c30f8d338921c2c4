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
import { encode } from '../responses/answer.ts'
import { EVENT_STREAM, prefersStream } from './accept.ts'
import { type Conditional, conditionsOf } from './conditional.ts'
import { errorText, shownError } from './errors.ts'

// biome-ignore lint/suspicious/noExplicitAny: an operation keeps its values to itself
export interface Streamed<Value = any> {
  /** streams of equal names send equal text for equal values */
  name: string
  /** for the document: what is sent, and when it is over */
  means: string
  /** of the JSON of each event; it must not depend on who asks */
  schema: z.ZodType
  /** what an event is called */
  eventOf(value: Value): string
  /** Whether the query asks for it, where the header alone does not. */
  wanted?(query: object): boolean
  /** the query parameter that the header Last-Event-ID stands for, which wins; default: `after` */
  place?: string
  /** query parameters that say where a stream begins that is none of `place`: who comes back goes on instead */
  beginnings?: readonly string[]
  /** Throws what a verb throws. */
  open(ctx: RequestContext, raw: RawInput, relay: Relay): Promise<Stream<Value>>
}

/** What a server has for its streams. */
export interface Streaming {
  relay: Relay
  heartbeat: Heartbeat
}

/** Which form the answer has depends on one more header. */
export const STREAM_VARY = `${VARY}, Accept`

/** Whether this call is to be answered by a stream. */
export function wantsStream(streamed: Streamed | undefined, request: FastifyRequest): streamed is Streamed {
  if (streamed === undefined || request.method !== 'GET' || !prefersStream(request.headers.accept)) return false
  return streamed.wanted?.(request.query as object) ?? true
}

/** Begins it, and takes the response over. */
export async function sendStream(
  streamed: Streamed,
  operation: Conditional,
  request: FastifyRequest,
  reply: FastifyReply,
  { relay, heartbeat }: Streaming,
): Promise<void> {
  const ctx = request.caller!
  const stream = await begin(streamed, ctx, operation, request, relay)
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
async function begin(
  streamed: Streamed,
  ctx: RequestContext,
  operation: Conditional,
  { headers, params, query }: FastifyRequest,
  relay: Relay,
): Promise<Stream> {
  const last = (headers['last-event-id'] as string | undefined) || undefined
  // a stream is no representation that could be tagged
  const { raw } = conditionsOf({ ...operation, headers: { 'cache-control': 'no-store' } }, headers)
  const asked = last === undefined ? query : resumed(streamed, query as object, last)
  try {
    return await streamed.open(ctx, { path: params, query: asked, ...raw }, relay)
  } catch (error) {
    throw last !== undefined && error instanceof ValidationError ? ofHeader(streamed, error) : error
  }
}

function resumed({ place = 'after', beginnings = [] }: Streamed, query: object, last: string): object {
  const rest = Object.entries(query).filter(([name]) => !beginnings.includes(name))
  return { ...Object.fromEntries(rest), [place]: last }
}

function ofHeader({ place = 'after' }: Streamed, { violations }: ValidationError): ValidationError {
  return new ValidationError(
    violations.map(({ loc, ...rest }) => ({
      ...rest,
      loc: loc.join('.') === `query.${place}` ? ['header', 'Last-Event-ID'] : loc,
    })),
  )
}

const renderings = new WeakMap<Streamed, Rendering<unknown>>()

function renderingOf(streamed: Streamed): Rendering<unknown> {
  const known = renderings.get(streamed)
  if (known) return known
  const { name, schema } = streamed
  // made once for all who ask, so there is nobody whom it could depend on
  const text = (value: unknown) => JSON.stringify(encode(schema, value as never, NOBODY))
  const rendering = { key: `rest ${name}`, render: async (values: readonly unknown[]) => values.map(text) }
  renderings.set(streamed, rendering)
  return rendering
}

const NOBODY = Object.freeze({}) as RequestContext

function formOf({ name, eventOf }: Streamed, { log, requestId }: RequestContext): SseFormat {
  return {
    name: `rest ${name}`,
    frame: ({ cursor, value, text }) => sseEvent({ id: cursor, event: eventOf(value), data: text }),
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
type Described = { description?: string; stream?: Streamed }

/** In the document: the content of the answer of success, beside the page. */
export const streamContent = ({ stream }: Described) => stream && { [EVENT_STREAM]: { schema: stream.schema } }

/** In the document: what the operation does, and what its stream is. */
export function streamDescription({ description, stream }: Described): { description?: string } {
  const followed = stream && `With \`Accept: ${EVENT_STREAM}\`: ${stream.means} ${always(stream)}`
  const said = [description, followed].filter((one) => one !== undefined)
  return said.length > 0 ? { description: said.join('\n\n') } : {}
}

const always = ({ place = 'after' }: Streamed) =>
  `Each server-sent event has its cursor as \`id\`; \`${place}\`, or the header \`Last-Event-ID\`, goes on behind one. What ends it early is an event \`error\` with \`detail\`, \`code\` and the \`cursor\` to go on from; a clean end is an event \`complete\`. Comments come at the latest every 15 seconds, unless the server is overloaded.`

/** In the document: the header that a client sends when it comes back. */
export const streamParameter = ({ stream }: Described) => (stream ? LAST_EVENT_ID : null)

const LAST_EVENT_ID = z.object({
  'Last-Event-ID': z
    .string()
    .optional()
    .describe(
      'Of a stream: the `id` of the last event that was received. It wins over where the query says that it begins.',
    ),
})
