/** The answer to a query that is known: here meet what is asked and how it is read. */
import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import type { Made, Reuse } from '../../response-cache/response-cache.ts'
import type { GraphQLContext } from '../builder/context.ts'
import type { HotPlan } from '../compiled-queries/compile.ts'
import type { LearnedQuery } from './document-cache.ts'

/** What a query is asked with. */
export interface Question {
  query: LearnedQuery
  /** as they were sent */
  sent: Record<string, unknown>
  /** as a plan takes them */
  variables: Record<string, unknown>
}

const numbers = new WeakMap<LearnedQuery, number>()
let lastNumber = 0

/** Of a query, as long as it is learned: no other one ever has it. */
function numberOf(query: LearnedQuery): number {
  let number = numbers.get(query)
  if (number === undefined) {
    lastNumber++
    number = lastNumber
    numbers.set(query, number)
  }
  return number
}

/**
 * JSON of the answer to a query that has a plan; the one that was given before, while nothing has changed since. Throws where
 * the resolvers have to answer.
 */
export function answerOf(
  reuse: Reuse,
  ctx: GraphQLContext,
  plan: HotPlan,
  { query, sent, variables }: Question,
): Promise<string | Buffer> {
  const make = async (): Promise<Made<string | Buffer>> => {
    const { data, version, holdsUntil } = await plan.run(ctx, variables)
    const text = `{"data":${data}}`
    const keep = () => {
      const value = Buffer.from(text)
      return { value, bytes: value.length }
    }
    // what is not shown the plan has left out of its version
    return { value: text, keep, version, showsHeard: true, holdsUntil }
  }
  return reuse.answer(ctx, `${numberOf(query)} ${JSON.stringify(sent)}`, make)
}

/** By the resolvers: what Yoga would get, too. */
export async function resolve(
  schema: GraphQLSchema,
  ctx: GraphQLContext,
  { query, sent }: Question,
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
