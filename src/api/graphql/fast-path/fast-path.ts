/**
 * Answers queries that Yoga executed before (document-cache.ts) without Yoga, with the same authentication, limits and cost.
 * Any unusual or invalid request goes to Yoga with its body given back. See README.md.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { execute, type GraphQLSchema, getVariableValues } from 'graphql'
import { databaseFailure } from '../../../domain/errors/database-error.ts'
import type { Db, RequestContext } from '../../../domain/transaction/context.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { type Admission, HEAVY_COST, HEAVY_DOCUMENT_LENGTH } from '../../limits/admission.ts'
import type { RequestScope } from '../../limits/request-scope.ts'
import type { Relay } from '../../realtime/relay.ts'
import type { ResponseCache } from '../../responses/response-cache.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { COST_LIMIT, costOf } from '../builder/cost.ts'
import type { CompiledQuery } from '../compiled-queries/compile.ts'
import type { CachedQuery, DocumentCache, Handover } from './document-cache.ts'
import { parseRequestBody, readRequestBody } from './request-body.ts'

/** Longer bodies are rare and contain large values. */
const MAX_BODY_BYTES = 64 * 1024
const JSON_TYPE = /^application\/json(?:; ?charset=(?:utf-8|UTF-8))?$/
/** A request with one of these headers goes to Yoga. */
const EXCLUDED_HEADERS = [
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'last-event-id',
  'transfer-encoding',
  'content-encoding',
  'expect',
] as const

export interface FastPathOptions {
  schema: GraphQLSchema
  relay: Relay
  authenticate: Authenticate
  documentCache: DocumentCache
  admission: Admission
  responseCache: ResponseCache
}

export interface FastPath {
  /** True if the request was answered or its client is gone. Otherwise Yoga must answer, with `handover`. */
  tryAnswer(
    request: FastifyRequest,
    reply: FastifyReply,
    requestScope: RequestScope,
    handover: Handover,
  ): Promise<boolean>
}

/** A request matched to its cached query. */
interface MatchedRequest {
  query: CachedQuery
  documentText: string
  /** as sent by the client */
  sentVariables: Record<string, unknown>
}

/** The part of a request that resolvers use. */
class Request {
  readonly #requestScope: RequestScope
  constructor(requestScope: RequestScope) {
    this.#requestScope = requestScope
  }
  get signal(): AbortSignal {
    return this.#requestScope.gone
  }
}

export function createFastPath({
  schema,
  relay,
  authenticate,
  documentCache,
  admission,
  responseCache,
}: FastPathOptions): FastPath {
  /** JSON of a compiled query's answer, reused while nothing changed. Throws if the resolvers must answer. */
  function answerCompiled(
    ctx: GraphQLContext,
    compiled: CompiledQuery,
    variables: Record<string, unknown>,
    cacheKey: string,
  ): Promise<string | Buffer> {
    return responseCache.getOrRead<string | Buffer>(ctx, cacheKey, async () => {
      const { data, version, expiresAt } = await compiled.run(ctx, variables)
      const text = `{"data":${data}}`
      const toEntry = () => {
        const value = Buffer.from(text)
        return { value, bytes: value.length }
      }
      // the compiled query already left the unused part out of its version
      return { value: text, toEntry, version, showsLastSeen: true, expiresAt }
    })
  }

  /** JSON of the answer; null: Yoga must answer. */
  async function read(
    caller: RequestContext,
    requestScope: RequestScope,
    matched: MatchedRequest,
    handover: Handover,
  ): Promise<string | Buffer | null> {
    const { query, documentText, sentVariables } = matched
    const { document, operation, compiled } = query
    if (caller.actor.role === 'agent' && (query.operationCount > 1 || documentText.length > HEAVY_DOCUMENT_LENGTH))
      return null
    const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], sentVariables, { maxErrors: 1 })
    if (!coerced) return null
    const name = operation.name?.value
    const cost = costOf({ schema, document, operationName: name, variables: sentVariables, ctx: caller })
    if (cost === 0 || cost > COST_LIMIT) return null
    if (documentText.length > HEAVY_DOCUMENT_LENGTH || cost > HEAVY_COST)
      await admission.admitHeavy(caller.actor, requestScope)
    let ctx: GraphQLContext = { relay, lastEventId: null, request: new Request(requestScope), cost, ...caller }
    if (compiled)
      try {
        return await answerCompiled(ctx, compiled, coerced, `${query.id} ${JSON.stringify(sentVariables)}`)
      } catch (error) {
        // the resolvers answer or report the error; after a database failure they don't wait for the database again
        if (databaseFailure(error) !== null) ctx = withFailingDatabase(ctx, error)
      }
    const result = await execute({
      schema,
      document,
      operationName: name,
      contextValue: ctx,
      variableValues: sentVariables,
    })
    if (!result.errors) return JSON.stringify(result)
    handover.result = result
    return null
  }

  return {
    async tryAnswer(request, { raw: response }, requestScope, handover) {
      const { raw } = request
      const length = bodyLength(request)
      if (length === 0) return false
      const type = documentCache.contentTypeFor(raw.headers.accept ?? '')
      if (type === undefined) return false
      handover.caller = (async () => authenticate(raw.headers, request.id, requestScope))()
      const caller = await handover.caller.catch(() => null)
      if (caller === null || caller.actor.role === 'listener' || caller.actor.role === 'builder') return false
      request.subject = caller.actor.subject
      const bytes = await readRequestBody(raw, length)
      if (bytes === null) return true
      const body = parseRequestBody(bytes)
      const query = body && documentCache.find(body.query, body.operationName)
      const matched = query && { query, documentText: body.query, sentVariables: body.variables }
      // Yoga presents the error of a full queue
      const text = matched && (await read(caller, requestScope, matched, handover).catch(() => null))
      if (text === null) {
        raw.unshift(bytes)
        return false
      }
      admission.releaseHeavy(requestScope)
      // lets the request end after its body was read
      raw.resume()
      if (response.destroyed || response.writableEnded) return true
      response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
      response.end(text)
      return true
    },
  }
}

/** The length of an ordinary JSON request's body; 0: the request goes to Yoga. */
function bodyLength({ raw: { method, url, headers } }: FastifyRequest): number {
  if (method !== 'POST' || url !== '/graphql' || !JSON_TYPE.test(headers['content-type'] ?? '')) return 0
  for (const name of EXCLUDED_HEADERS) if (headers[name] !== undefined) return 0
  const { 'content-length': length = '' } = headers
  return /^\d{1,6}$/.test(length) && Number(length) <= MAX_BODY_BYTES ? Number(length) : 0
}

/**
 * A copy of the context whose database calls all fail immediately with this error. After a database failure the resolvers
 * can present the error without another wait.
 */
function withFailingDatabase(ctx: GraphQLContext, error: unknown): GraphQLContext {
  const fail = () => {
    const failed = Promise.reject(error)
    // a caller of several promises may handle only the first failure
    failed.catch(() => {})
    return failed
  }
  // stands for the client, its models, their methods and template tags: every call fails
  const unavailable: unknown = new Proxy(() => {}, { get: () => unavailable, apply: fail })
  return { ...ctx, db: unavailable as Db, query: fail, transact: fail }
}
