/** What a query may cost: each field costs 1, and what is below a connection costs that times the page's size. */
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  GraphQLError,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getOperationAST,
  getVariableValues,
  Kind,
} from 'graphql'

/** Lets 100 deployments with 5 revisions each and all their fields through, not 100 × 100 × 100 of anything. */
export const COST_LIMIT = 20_000

export function tooExpensive(cost: number): GraphQLError {
  return new GraphQLError(
    `This query costs ${cost}; at most ${COST_LIMIT} is allowed. Ask for smaller pages or fewer nested lists.`,
    { extensions: { code: 'VALIDATION_FAILED', http: { status: 400, spec: true } } },
  )
}

/** The cost of a connection: its page size multiplies what is selected below it. */
export function pageCost(args: { first?: number | null; last?: number | null }): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.min(Math.max(args.first ?? args.last ?? 20, 1), 100) }
}

/** Refuses a subscription that is too expensive when it begins: the builder's own check comes with each event. */
export function refuseExpensive(
  ctx: object,
  { schema, operation, fragments, variableValues: variables }: GraphQLResolveInfo,
): void {
  const definitions = [operation, ...Object.values(fragments)]
  const { complexity } = complexityFromQuery({ kind: Kind.DOCUMENT, definitions }, { schema, ctx, variables })
  if (complexity > COST_LIMIT) throw tooExpensive(complexity)
}

export interface Query {
  schema: GraphQLSchema
  document: DocumentNode
  operationName?: string | null
  /** as they were sent */
  variables: Record<string, unknown>
  ctx: object
}

/** What the operation that is to run costs; 0 where that can't be computed: then the execution reports what is wrong. */
export function costOf({ schema, document, operationName, variables, ctx }: Query): number {
  const operation = getOperationAST(document, operationName)
  if (!operation) return 0
  // first with a bound: the plugin makes an error of each value that is wrong, and a request has room for 500,000
  const { errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, { maxErrors: 1 })
  if (errors) return 0
  // of several operations the plugin reads the first
  const definitions = [operation, ...document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)]
  try {
    return complexityFromQuery({ kind: Kind.DOCUMENT, definitions }, { schema, ctx, variables }).complexity
  } catch {
    return 0
  }
}
