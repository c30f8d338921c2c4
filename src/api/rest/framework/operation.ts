/**
 * Declares an operation of the REST API: path, domain verb, answers. The route and the OpenAPI document are made from it. The
 * verb parses the raw parts, after it has checked the role (docs/api-rules.md#errors).
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { z } from 'zod'
import { toWire, type WireObject } from '../../../domain/parsing/codec.ts'
import type { RawInput } from '../../../domain/parsing/parse.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import { type Authenticate, CACHE_HEADERS } from '../../auth/authenticate.ts'
import { HttpRequestScope, type RequestScope } from '../../limits/request-scope.ts'
import type { ResponseCache } from '../../responses/response-cache.ts'
import { documentedErrors, errorDescriptions, jsonContent, validationErrorBody } from '../responses/errors.ts'
import type { ResponseHeaders, SourceOf } from '../responses/response-schema.ts'
import { answerFromCache, type Cacheable, isCacheableRequest } from './cached-responses.ts'
import {
  conditionHeaders,
  conditionStatuses,
  conditionsOf,
  newsCheck,
  sendResource,
  tagHeader,
} from './conditional-requests.ts'
import {
  acceptsKey,
  handleIdempotently,
  type KeyedOperation,
  keyHeader,
  REPLAYED_HEADER,
  replay,
} from './idempotency.ts'
import {
  requestsStream,
  STREAM_VARY,
  type StreamDefinition,
  type StreamServices,
  sendStream,
  streamContent,
  streamDescription,
  streamHeaders,
} from './stream.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** By status. `schema`: null for no body. `headers`: only headers that some answers lack. `types`: of a text; default: JSON. */
export type Responses = Record<
  number,
  { description: string; schema: z.ZodType | null; headers?: ResponseHeaders; types?: readonly string[] }
>

/** A declared status with a body that its schema encodes. Each declared header is optional. */
type HandlerResult<A extends Responses> = {
  [S in keyof A & number]: { status: S; body: BodyOf<A[S]>; headers?: HeadersOf<A[S]> }
}[keyof A & number]

type HeadersOf<D extends Responses[number]> = { [N in keyof D['headers']]?: string }

type BodyOf<D extends Responses[number]> = D['schema'] extends z.ZodType ? SourceOf<D['schema']> : null

/** Errors of some operations. All operations can answer 401, 403, 422, 429, 500 and 503. */
type SpecialError = 400 | 404 | 409 | 502

export interface Operation<A extends Responses = Responses> {
  method: Method
  /** with parameters in braces */
  path: `/${string}`
  operationId: string
  summary: string
  description?: string
  tag: string
  /** the verb's schema, with the members `path`, `query`, `body` */
  input: z.ZodObject
  responses: A
  errors: readonly SpecialError[]
  /** passes If-Match to the verb, and can answer 412 */
  ifMatch?: boolean
  /** a credential of the organization may omit X-Tenant-Id; default: required */
  tenant?: 'optional'
  /** extends or ends a lease: such calls queue and are never answered 429 */
  keepsLease?: boolean
  /** false: such calls repeat all the time and are part of no trace */
  isTraced?: false
  idempotency?: KeyedOperation['idempotency']
  /** the answer to `Accept: text/event-stream` */
  stream?: StreamDefinition
  /** answers may come from the response cache; absent: never */
  cacheable?: Cacheable
  /** headers of every answer */
  headers?: Record<string, string>
  handle(ctx: RequestContext, raw: RawInput): Promise<HandlerResult<NoInfer<A>>>
  /** Makes the answer from the verb's result. Needed for writes with an Idempotency-Key. */
  present?(result: never): HandlerResult<NoInfer<A>>
}

declare module 'fastify' {
  interface FastifyRequest {
    /** caller and workspace; set before the body is read, so that 401 precedes other errors */
    caller: RequestContext | null
    requestScope: RequestScope | null
  }
}

/** Checks the type of `handle` against `responses`. */
export function operation<const A extends Responses>(declared: Operation<A>): Operation {
  return declared as unknown as Operation
}

/** For an operation with one success status and the result of `verb` as its body. */
export function singleResponse<const S extends number, B extends z.ZodType>(
  status: S,
  description: string,
  schema: B,
  verb: (ctx: RequestContext, raw: RawInput) => Promise<SourceOf<B>>,
) {
  const present = (body: SourceOf<B>) => ({ status, body })
  return {
    responses: { [status]: { description, schema } } as Record<S, { description: string; schema: B }>,
    ...handledBy(verb, present),
  }
}

/** For an operation that answers 200 with a message of `domain/protocol`. */
export function messageResponse<M extends WireObject<z.ZodRawShape>>(
  description: string,
  message: M,
  verb: (ctx: RequestContext, raw: RawInput) => Promise<z.output<M>>,
) {
  return {
    responses: { 200: { description, schema: message.in } },
    handle: async (ctx: RequestContext, raw: RawInput) =>
      ({ status: 200, body: toWire(message, await verb(ctx, raw)) }) as const,
  }
}

/** For an operation that answers 204. */
export function noContent(description: string, verb: (ctx: RequestContext, raw: RawInput) => Promise<unknown>) {
  const present = () => ({ status: 204, body: null }) as const
  return { responses: { 204: { description, schema: null } }, ...handledBy(verb, present) }
}

/** For an operation whose answer `present` makes from the result of `verb`. */
export function handledBy<R, const A extends { status: number }>(
  verb: (ctx: RequestContext, raw: RawInput) => Promise<R>,
  present: (result: R) => A,
) {
  return { handle: async (ctx: RequestContext, raw: RawInput) => present(await verb(ctx, raw)), present }
}

/** `/v2/deployments/{deployment_id}` → `/v2/deployments/:deployment_id` */
function routePath(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1')
}

/** Makes a Fastify route. Its `schema` is used only for the document. */
export function toRoute(
  declared: Operation,
  authenticate: Authenticate,
  { streaming, responseCache }: { streaming: StreamServices; responseCache: ResponseCache },
): RouteOptions {
  const { stream } = declared
  const { path, query, body } = declared.input.shape
  const headers = requestHeaders(declared)
  const caching = stream ? { ...CACHE_HEADERS, vary: STREAM_VARY } : CACHE_HEADERS
  return {
    method: declared.method,
    url: routePath(declared.path),
    schema: {
      operationId: declared.operationId,
      summary: declared.summary,
      ...streamDescription(declared),
      tags: [declared.tag],
      ...(path ? { params: path } : {}),
      ...(query ? { querystring: query } : {}),
      ...(body ? { body } : {}),
      ...(headers ? { headers } : {}),
      response: documentedResponses(declared, body !== undefined),
    },
    onRequest: authenticateRequest(authenticate, declared, caching),
    handler: async (request, reply) => {
      if (requestsStream(stream, request)) return sendStream(stream, declared, request, reply, streaming)
      const conditions = conditionsOf(declared, request.headers)
      const { params, query, body } = request
      const input: RawInput = { path: params, query, body: body ?? undefined, ...conditions.raw }
      if (declared.headers) reply.headers(declared.headers)
      if (isCacheableRequest(declared, query, conditions))
        return answerFromCache(responseCache, request, reply, declared, conditions, (ctx) =>
          declared.handle(ctx, input),
        )
      const raw = { ...input, ...newsCheck(declared.responses[200]?.schema, conditions, request.caller!) }
      const outcome = await handleIdempotently(declared, request, reply, (ctx) => declared.handle(ctx, raw))
      if ('entry' in outcome) return replay(reply, declared, request.caller!, outcome.entry)
      const { answer, ctx } = outcome
      reply.code(answer.status).headers(answer.headers ?? {})
      const { schema } = declared.responses[answer.status]!
      if (!schema) return reply.send()
      const sent: unknown = answer.body
      if (sent instanceof Readable) return sendText(reply, sent)
      return sendResource(reply, declared, conditions, schema, answer.body, ctx)
    },
  }
}

/** Sends a text while it is read. A client that reads nothing for this long is cut off. */
const WRITE_STALL_TIMEOUT_MS = 60_000

function sendText(reply: FastifyReply, text: Readable): FastifyReply {
  reply.raw.setTimeout(WRITE_STALL_TIMEOUT_MS, () => reply.raw.destroy())
  return reply.send(text)
}

/** An onRequest hook that authenticates the caller before the body is read and applies the limits. */
export function authenticateRequest(
  authenticate: Authenticate,
  { keepsLease, tenant, isTraced }: Pick<Operation, 'keepsLease' | 'tenant' | 'isTraced'> = {},
  headers: Record<string, string> = CACHE_HEADERS,
) {
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void => {
    reply.headers(headers)
    const requestScope = new HttpRequestScope(request, reply, keepsLease)
    request.requestScope = requestScope
    const accept = (caller: RequestContext) => {
      caller.client = requestScope
      if (isTraced === false) caller.trace = undefined
      request.caller = caller
      request.subject = caller.actor.subject
      done()
    }
    const caller = authenticate(request.raw.headers, request.id, requestScope, tenant)
    if (caller instanceof Promise) caller.then(accept, done)
    else accept(caller)
  }
}

/** For the OpenAPI document: the headers of a request. */
function requestHeaders(declared: Operation): z.ZodObject | null {
  const shapes = [conditionHeaders(declared), keyHeader(declared), streamHeaders(declared)].flatMap((object) =>
    object ? [object.shape] : [],
  )
  return shapes.length > 0 ? z.object(Object.assign({}, ...shapes)) : null
}

function documentedResponses(declared: Operation, hasBody: boolean): Record<number, unknown> {
  const { notModified, preconditionFailed } = conditionStatuses(declared)
  const keyed = acceptsKey(declared)
  const success: [string, unknown][] = Object.entries(declared.responses).map(
    ([status, { description, schema, headers, types = ['application/json'] }]) => {
      if (!schema) return [status, z.null().describe(description)]
      const responseHeaders = { ...headers, ...tagHeader(declared, schema), ...(keyed ? REPLAYED_HEADER : {}) }
      const content = { ...Object.fromEntries(types.map((type) => [type, { schema }])), ...streamContent(declared) }
      return [
        status,
        {
          description,
          content,
          ...(Object.keys(responseHeaders).length > 0 ? { headers: responseHeaders } : {}),
        },
      ]
    },
  )
  if (notModified) success.push(['304', z.null().describe(NOT_MODIFIED_DESCRIPTION)])
  const limit = declared.keepsLease ? [] : [429]
  const conflicts = [...(keyed ? [409] : []), ...(preconditionFailed ? [412] : [])]
  const special = new Set([...declared.errors, ...conflicts, ...(hasBody ? [413, 415] : [])])
  return {
    ...Object.fromEntries(success),
    ...documentedErrors(401, 403, ...special, ...limit, 500, 503),
    422: jsonContent(VALIDATION_DESCRIPTION, validationErrorBody),
  }
}

const VALIDATION_DESCRIPTION = `${errorDescriptions[422]} An unknown query parameter is a violation too.`

const NOT_MODIFIED_DESCRIPTION =
  'The caller already has this answer (`If-None-Match`). It has the headers of a 200 and no body.'
