/** Executes a cached query: compiled, through the response cache, or by the resolvers. */
import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import type { Db } from '../../../domain/transaction/context.ts'
import type { FreshResponse, ResponseCache } from '../../response-cache/response-cache.ts'
import type { GraphQLContext } from '../builder/context.ts'
import type { CompiledQuery } from '../compiled-queries/compile.ts'
import type { CachedQuery } from './document-cache.ts'

/** One call of a cached query. */
export interface QueryCall {
  query: CachedQuery
  /** as sent by the client */
  sentVariables: Record<string, unknown>
  /** coerced, for compiled queries */
  variables: Record<string, unknown>
}

const queryIds = new WeakMap<CachedQuery, number>()
let lastQueryId = 0

/** A number that no other query ever gets, valid while the query is cached. */
function queryId(query: CachedQuery): number {
  let number = queryIds.get(query)
  if (number === undefined) {
    lastQueryId++
    number = lastQueryId
    queryIds.set(query, number)
  }
  return number
}

/** JSON of a compiled query's answer, reused while nothing changed. Throws if the resolvers must answer. */
export function answerCompiled(
  responseCache: ResponseCache,
  ctx: GraphQLContext,
  compiled: CompiledQuery,
  { query, sentVariables, variables }: QueryCall,
): Promise<string | Buffer> {
  const read = async (): Promise<FreshResponse<string | Buffer>> => {
    const { data, version, expiresAt } = await compiled.run(ctx, variables)
    const text = `{"data":${data}}`
    const toEntry = () => {
      const value = Buffer.from(text)
      return { value, bytes: value.length }
    }
    // the compiled query already left the unused part out of its version
    return { value: text, toEntry, version, showsLastSeen: true, expiresAt }
  }
  return responseCache.getOrRead(ctx, `${queryId(query)} ${JSON.stringify(sentVariables)}`, read)
}

/** Executes by the resolvers, exactly as Yoga would. */
export async function answerByResolvers(
  schema: GraphQLSchema,
  ctx: GraphQLContext,
  { query, sentVariables }: QueryCall,
): Promise<ExecutionResult> {
  const { document, operation } = query
  return execute({
    schema,
    document,
    operationName: operation.name?.value,
    contextValue: ctx,
    variableValues: sentVariables,
  })
}

/**
 * A copy of the context whose database calls all fail immediately with this error. After a database failure the resolvers
 * can present the error without another wait.
 */
export function withFailingDatabase(ctx: GraphQLContext, error: unknown): GraphQLContext {
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
