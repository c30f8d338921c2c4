/** The answer to a query that is known: here meet what is asked and how it is read. */
import { type ExecutionResult, execute, type GraphQLSchema } from 'graphql'
import type { GraphQLContext } from '../builder/context.ts'
import type { HotAnswer, HotPlan } from '../hot/plan.ts'
import type { LearnedQuery } from './learned.ts'

/** What a query is asked with. */
export interface Question {
  query: LearnedQuery
  /** as they were sent */
  sent: Record<string, unknown>
  /** as a plan takes them */
  variables: Record<string, unknown>
}

/** Of a query that has a plan. Throws where the resolvers have to answer. */
export function answerOf(ctx: GraphQLContext, plan: HotPlan, { variables }: Question): Promise<HotAnswer> {
  return plan.run(ctx, variables)
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
