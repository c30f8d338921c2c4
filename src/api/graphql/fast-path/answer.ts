/** The answer to a query that is known: here meet what is asked and how it is read. */
import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import type { Db } from '../../../domain/transaction/context.ts'
import type { FreshResponse, ResponseCache } from '../../response-cache/response-cache.ts'
import type { GraphQLContext } from '../builder/context.ts'
import type { CompiledQuery } from '../compiled-queries/compile.ts'
import type { CachedQuery } from './document-cache.ts'

/** What a query is asked with. */
export interface QueryCall {
  query: CachedQuery
  /** as they were sent */
  sentVariables: Record<string, unknown>
  /** as a plan takes them */
  variables: Record<string, unknown>
}

const queryIds = new WeakMap<CachedQuery, number>()
let lastQueryId = 0

/** Of a query, as long as it is learned: no other one ever has it. */
function queryId(query: CachedQuery): number {
  let number = queryIds.get(query)
  if (number === undefined) {
    lastQueryId++
    number = lastQueryId
    queryIds.set(query, number)
  }
  return number
}

/**
 * JSON of the answer to a query that has a plan; the one that was given before, while nothing has changed since. Throws where
 * the resolvers have to answer.
 */
export function answerCompiled(
  responseCache: ResponseCache,
  ctx: GraphQLContext,
  plan: CompiledQuery,
  { query, sentVariables: sent, variables }: QueryCall,
): Promise<string | Buffer> {
  const make = async (): Promise<FreshResponse<string | Buffer>> => {
    const { data, version, expiresAt: holdsUntil } = await plan.run(ctx, variables)
    const text = `{"data":${data}}`
    const keep = () => {
      const value = Buffer.from(text)
      return { value, bytes: value.length }
    }
    // what is not shown the plan has left out of its version
    return { value: text, toEntry: keep, version, showsLastSeen: true, expiresAt: holdsUntil }
  }
  return responseCache.getOrRead(ctx, `${queryId(query)} ${JSON.stringify(sent)}`, make)
}

/** By the resolvers: what Yoga would get, too. */
export async function answerByResolvers(
  schema: GraphQLSchema,
  ctx: GraphQLContext,
  { query, sentVariables: sent }: QueryCall,
): Promise<ExecutionResult> {
  const { document, operation } = query
  return execute({
    schema,
    document,
    operationName: operation.name?.value,
    contextValue: ctx,
    variableValues: sent,
  })
}

/** The same context, and whatever it asks of the database fails at once with this error. So the resolvers present it as their own. */
export function withoutDatabase(ctx: GraphQLContext, error: unknown): GraphQLContext {
  const fail = () => {
    const failed = Promise.reject(error)
    // what asks for several things at once may look at the first failure alone
    failed.catch(() => {})
    return failed
  }
  // a client, its models and their methods, and templates: all that is called fails
  const away: unknown = new Proxy(() => {}, { get: () => away, apply: fail })
  return { ...ctx, db: away as Db, query: fail, transact: fail }
}
