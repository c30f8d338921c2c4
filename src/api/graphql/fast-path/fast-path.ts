/**
 * The short way of a query that is known (document-cache.ts): authenticated, counted, its variables read, costed, then its plan, and
 * the answer as JSON. All else goes to Yoga, with its body as it came: other media types and methods, mutations, what has a header or a
 * member that is rare, what is wrong, and what a plan can't answer. So whatever is odd or an error is answered by Yoga alone.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ExecutionResult, type GraphQLSchema, getVariableValues } from 'graphql'
import { databaseFailure } from '../../../domain/errors/database-error.ts'
import type { RequestContext } from '../../../domain/transaction/context.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import type { Visit } from '../../limits/request-scope.ts'
import type { Relay } from '../../realtime/relay.ts'
import type { Reuse } from '../../response-cache/response-cache.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { COST_LIMIT, costOf } from '../builder/cost.ts'
import { answerOf, resolve } from './answer.ts'
import { wholeBody } from './body.ts'
import { withoutDatabase } from './database-unavailable.ts'
import type { LearnedQuery, Learning } from './document-cache.ts'
import { HEAVY_COST, HEAVY_TEXT, type HeavyTurns } from './heavy-query-semaphore.ts'
import { readAsked } from './request-body.ts'

/** Bytes of a body. Longer ones are rare, and have large values in them. */
const LONGEST_BODY = 64 * 1024
const JSON_TYPE = /^application\/json(?:; ?charset=(?:utf-8|UTF-8))?$/
/** With one of them it is no ordinary request. */
const RARE_HEADERS = [
  'idempotency-key',
  'if-match',
  'if-none-match',
  'if-unmodified-since',
  'last-event-id',
  'transfer-encoding',
  'content-encoding',
  'expect',
] as const

export interface EntryOptions {
  schema: GraphQLSchema
  relay: Relay
  authenticate: Authenticate
  learning: Learning
  heavy: HeavyTurns
  reuse: Reuse
}

/** What the entry tells Yoga of a request that it has begun. */
export interface Begun {
  /** the caller, or why there is none: it is asked and counted only once */
  caller?: Promise<RequestContext>
  /** with errors, which Yoga presents */
  result?: ExecutionResult
}

export interface Entry {
  /** Whether it was answered, or needs no answer any more. If not, Yoga has to answer it, with what is in `begun`. */
  answer(request: FastifyRequest, reply: FastifyReply, visit: Visit, begun: Begun): Promise<boolean>
}

/** What is asked, and of which query. */
interface Known {
  query: LearnedQuery
  /** of its document */
  text: string
  /** the variables, as they were sent */
  sent: Record<string, unknown>
}

/** The request, as resolvers know it. */
class Request {
  readonly #visit: Visit
  constructor(visit: Visit) {
    this.#visit = visit
  }
  get signal(): AbortSignal {
    return this.#visit.gone
  }
}

export function createEntry({ schema, relay, authenticate, learning, heavy, reuse }: EntryOptions): Entry {
  /** JSON of the answer; null: Yoga has to answer. */
  async function read(
    caller: RequestContext,
    visit: Visit,
    known: Known,
    begun: Begun,
  ): Promise<string | Buffer | null> {
    const { query, text, sent } = known
    const { document, operation, plan } = query
    if (caller.actor.role === 'agent' && (query.operations > 1 || text.length > HEAVY_TEXT)) return null
    const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], sent, { maxErrors: 1 })
    if (!coerced) return null
    const name = operation.name?.value
    const cost = costOf({ schema, document, operationName: name, variables: sent, ctx: caller })
    if (cost === 0 || cost > COST_LIMIT) return null
    if (text.length > HEAVY_TEXT || cost > HEAVY_COST) await heavy.enter(visit, caller.actor, visit)
    let ctx: GraphQLContext = { relay, lastEventId: null, request: new Request(visit), cost, ...caller }
    if (plan)
      try {
        return await answerOf(reuse, ctx, plan, { query, sent, variables: coerced })
      } catch (error) {
        // the resolvers say what is wrong, or have the answer; but what has kept somebody waiting in vain is not asked again
        if (databaseFailure(error) !== null) ctx = withoutDatabase(ctx, error)
      }
    const result = await resolve(schema, ctx, { query, sent, variables: coerced })
    if (!result.errors) return JSON.stringify(result)
    begun.result = result
    return null
  }

  return {
    async answer(request, { raw: response }, visit, begun) {
      const { raw } = request
      const length = bodyLength(request)
      if (length === 0) return false
      const type = learning.typeFor(raw.headers.accept ?? '')
      if (type === undefined) return false
      begun.caller = (async () => authenticate(raw.headers, request.id, visit))()
      const caller = await begun.caller.catch(() => null)
      if (caller === null || caller.actor.role === 'listener' || caller.actor.role === 'builder') return false
      request.subject = caller.actor.subject
      const body = await wholeBody(raw, length)
      if (body === null) return true
      const asked = readAsked(body)
      const query = asked && learning.find(asked.query, asked.operationName)
      const known = query && { query, text: asked.query, sent: asked.variables }
      // who is refused a turn is told so by Yoga
      const text = known && (await read(caller, visit, known, begun).catch(() => null))
      if (text === null) {
        raw.unshift(body)
        return false
      }
      heavy.leave(visit)
      // it has been read, and ends now
      raw.resume()
      if (response.destroyed || response.writableEnded) return true
      response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(text) })
      response.end(text)
      return true
    },
  }
}

/** Of an ordinary request in JSON; 0: it is another one. */
function bodyLength({ raw: { method, url, headers } }: FastifyRequest): number {
  if (method !== 'POST' || url !== '/graphql' || !JSON_TYPE.test(headers['content-type'] ?? '')) return 0
  for (const name of RARE_HEADERS) if (headers[name] !== undefined) return 0
  const { 'content-length': length = '' } = headers
  return /^\d{1,6}$/.test(length) && Number(length) <= LONGEST_BODY ? Number(length) : 0
}
